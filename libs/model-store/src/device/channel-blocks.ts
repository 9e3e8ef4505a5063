import { accuracyLevel } from '../convert/decoder/packed-linear.js';
import { contribDomain } from '../onnx/onnx-types.js';
import type { GraphNode } from '../onnx/index.js';
import type { EditedGraph, StoredWeight } from './edited-graph.js';

/** The code that stands for zero in blocks of 8 bits. */
const zeroCode = 128;
const blockSize = 32;

/**
 * Turns layers with a scale per output channel into blocks with the same values: devices compute with blocks, while the
 * runtime has integer products for the processor only, and would carry their operands over the bus.
 */
export async function blockChannels(graph: EditedGraph): Promise<void> {
  for (const node of [...graph.nodes]) {
    if (node.operator === 'MatMulIntegerToFloat') await blockLayer(graph, node);
  }
}

async function blockLayer(graph: EditedGraph, product: GraphNode): Promise<void> {
  const [codes, weightName = '', , scalesName = ''] = product.inputs;
  const [weight, input] = [graph.weight(weightName), quantizedInput(graph, codes)];
  const [scaled, ...others] = graph.consumers(product.outputs[0]);
  if (weight?.dimensions.length !== 2 || input === null || scaled?.operator !== 'Mul' || others.length > 0) return;
  const [values, scales] = [await graph.bytesOf(weightName), await graph.bytesOf(scalesName)];
  if (values === null || scales === null) return;
  const [inputs = 0, outputs = 0] = weight.dimensions;
  const name = weightName.replace(/\.codes$/, '');
  setBlocks(graph, { name, weight, values, scales });
  graph.replaceNode(scaled, {
    operator: 'MatMulNBits',
    domain: contribDomain,
    inputs: [input, `${name}.blocks`, `${name}.block_scales`],
    outputs: scaled.outputs,
    attributes: { K: inputs, N: outputs, bits: 8, block_size: blockSize, accuracy_level: accuracyLevel },
  });
}

/** The value of which a product takes the codes; null if they are made in another way. */
function quantizedInput(graph: EditedGraph, codes: string | undefined): string | null {
  const quantized = graph.producer(codes);
  const scaled = graph.producer(quantized?.inputs[0]);
  return quantized?.operator === 'QuantizeLinear' && scaled?.operator === 'Div' ? (scaled.inputs[0] ?? null) : null;
}

function setBlocks(
  graph: EditedGraph,
  layer: { name: string; weight: StoredWeight; values: Uint8Array; scales: Uint8Array },
): void {
  const { name, weight, values, scales } = layer;
  const [inputs = 0, outputs = 0] = weight.dimensions;
  const codes = new Int8Array(values.buffer, values.byteOffset, values.byteLength);
  const perChannel = new Float32Array(Uint8Array.from(scales).buffer);
  const blocks = Math.ceil(inputs / blockSize);
  const rows = new Uint8Array(outputs * blocks * blockSize).fill(zeroCode);
  for (let output = 0; output < outputs; output += 1) {
    const start = output * blocks * blockSize;
    for (let input = 0; input < inputs; input += 1) {
      rows[start + input] = (codes[input * outputs + output] as number) + zeroCode;
    }
  }
  const blockScales = new Float32Array(outputs * blocks);
  for (let output = 0; output < outputs; output += 1) {
    blockScales.fill(perChannel[output] as number, output * blocks, (output + 1) * blocks);
  }
  graph.setWeight(`${name}.blocks`, 'uint8', [outputs, blocks, blockSize], rows);
  graph.setWeight(`${name}.block_scales`, 'float32', [outputs * blocks], blockScales);
}
