import type { GraphBuilder, ValueName } from '../../onnx/index.js';
import { bytesOf } from '../../onnx/index.js';
import type { PackedLayer, PackedMatrix } from './packed-layer.js';
import type { LinearLayer } from './row-pieces.js';

/**
 * Integer kernels with int8 activations: the fast path on CPUs. With VNNI and blocks of 32, results do not depend on the
 * batch (docs/decisions/rows-on-every-processor.md).
 */
export const accuracyLevel = 4;

const blockSizes = [128, 64, 32] as const;
const pieceValues = 1 << 21;

/** Adds `input × weightᵀ` with the codes, scales and zero points of the checkpoint. Groups become one or more blocks. */
export function emitPacked(
  builder: GraphBuilder,
  packed: PackedLayer,
  input: ValueName,
  layer: LinearLayer,
): ValueName {
  const { name, inputs, outputs } = layer;
  const blockSize = blockSizes.find((size) => packed.groupSize % size === 0);
  if (blockSize === undefined) throw new Error(`${name} has groups of ${packed.groupSize}.`);
  const blocks = inputs / blockSize;
  const content = new PackedContent(packed, { ...layer, blockSize });
  const operands = [
    input,
    builder.weight(`${name}.codes`, 'uint8', [outputs, blocks, blockSize / 2], () => content.codes()),
    builder.weight(`${name}.scales`, 'float32', [outputs * blocks], () => content.scales()),
  ];
  if (!packed.isSymmetric) {
    const sizes = [outputs * Math.ceil(blocks / 2)];
    operands.push(builder.weight(`${name}.zero_points`, 'uint8', sizes, () => content.zeros()));
  }
  return builder.contribNode('MatMulNBits', operands, {
    K: inputs,
    N: outputs,
    bits: 4,
    block_size: blockSize,
    accuracy_level: accuracyLevel,
  });
}

/** The tensors of one layer. The matrix is kept until the last is written. */
class PackedContent {
  private matrix: Promise<PackedMatrix> | null = null;

  constructor(
    private readonly packed: PackedLayer,
    private readonly layer: LinearLayer & { blockSize: number },
  ) {}

  async *codes(): AsyncGenerator<Uint8Array> {
    const matrix = await this.read();
    const { inputs, outputs } = this.layer;
    const { firstOutput } = this.packed;
    const step = Math.max(1, Math.floor(pieceValues / inputs));
    for (let from = 0; from < outputs; from += step) {
      yield packNibbles(matrix.codes(firstOutput + from, firstOutput + Math.min(outputs, from + step)));
    }
  }

  async *scales(): AsyncGenerator<Uint8Array> {
    const matrix = await this.read();
    const result = new Float32Array((this.layer.outputs * this.layer.inputs) / this.layer.blockSize);
    this.forEachBlock(matrix, (target, source) => (result[target] = matrix.scales[source] as number));
    if (this.packed.isSymmetric) this.matrix = null;
    yield bytesOf(result);
  }

  async *zeros(): AsyncGenerator<Uint8Array> {
    const matrix = await this.read();
    const blocks = this.layer.inputs / this.layer.blockSize;
    // A row of zero points begins at a whole byte.
    const rowCodes = 2 * Math.ceil(blocks / 2);
    const result = new Uint8Array(this.layer.outputs * rowCodes);
    this.forEachBlock(matrix, (target, source) => {
      result[Math.floor(target / blocks) * rowCodes + (target % blocks)] = matrix.zeros[source] as number;
    });
    this.matrix = null;
    yield packNibbles(result);
  }

  private read(): Promise<PackedMatrix> {
    return (this.matrix ??= this.packed.read());
  }

  /** Visits every block with the place of its group's scale. */
  private forEachBlock(matrix: PackedMatrix, visit: (block: number, group: number) => void): void {
    const { inputs, outputs, blockSize } = this.layer;
    const blocks = inputs / blockSize;
    for (let output = 0; output < outputs; output++) {
      for (let block = 0; block < blocks; block++) {
        const group = Math.floor((block * blockSize) / matrix.groupSize);
        visit(output * blocks + block, group * matrix.outputs + this.packed.firstOutput + output);
      }
    }
  }
}

/** Two codes per byte, the first in the lower half. */
function packNibbles(codes: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(codes.length / 2);
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = (codes[2 * index] as number) | ((codes[2 * index + 1] as number) << 4);
  }
  return bytes;
}
