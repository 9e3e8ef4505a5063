import { bytesOf, type GraphBuilder, type TensorContent, type ValueName } from '../../onnx/index.js';
import { type LinearLayer, rowPieces } from './row-pieces.js';
import type { WeightSource } from './weight-source.js';

/** Codes of inputs are 1 to 255 around this one, which stands for zero. */
const zeroCode = 128;
const largestCode = 127;

/**
 * Adds `input × weightᵀ` in whole numbers: int8 weights with a scale per output channel, inputs in 8 bits with a scale
 * per token that is found as they come. The sums are exact, so a token's product depends neither on what else is in the
 * batch nor on the kernel that computes it. Where layers read one input, the runtime quantises it once.
 */
export function emitChannels(
  builder: GraphBuilder,
  weights: WeightSource,
  input: ValueName,
  layer: LinearLayer,
): ValueName {
  const { codes, scale } = quantizeTokens(builder, input);
  const content = new ChannelContent(weights, layer);
  const weight = builder.weight(`${layer.name}.codes`, 'int8', [layer.inputs, layer.outputs], content.codes);
  const scales = builder.weight(`${layer.name}.scales`, 'float32', [layer.outputs], content.takeScales);
  const inputs = [codes, weight, builder.float(1), scales, builder.byte(zeroCode)];
  return builder.node('Mul', [builder.contribNode('MatMulIntegerToFloat', inputs), scale]);
}

/**
 * `codes` uint8 in the input's shape, `scale` float32 with 1 in place of the last axis. A token of zeros has the scale 0:
 * whatever its codes then are is multiplied by zero.
 */
function quantizeTokens(builder: GraphBuilder, input: ValueName): { codes: ValueName; scale: ValueName } {
  const magnitudes = builder.node('Abs', [input]);
  const largest = builder.node('ReduceMax', [magnitudes], { axes: [-1], keepdims: 1 });
  const scale = builder.node('Mul', [largest, builder.float(1 / largestCode)]);
  const scaled = builder.node('Div', [input, scale]);
  const codes = builder.node('QuantizeLinear', [scaled, builder.float(1), builder.byte(zeroCode)]);
  return { codes, scale };
}

/** Codes and scales come out of one pass; the scales wait, small, until the writer reaches their tensor. */
class ChannelContent {
  private scales: Float32Array | null = null;

  constructor(
    private readonly weights: WeightSource,
    private readonly layer: LinearLayer,
  ) {}

  readonly codes: TensorContent = () => this.quantize();

  readonly takeScales: TensorContent = () => {
    const scales = this.scales;
    if (!scales) throw new Error(`The scales of ${this.layer.name} were asked for before its codes.`);
    this.scales = null;
    return bytesOf(scales);
  };

  private async *quantize(): AsyncGenerator<Uint8Array> {
    const { inputs, outputs } = this.layer;
    const codes = new Int8Array(inputs * outputs);
    const scales = new Float32Array(outputs);
    for await (const { from, values } of rowPieces(this.weights, this.layer)) {
      for (let row = 0; row * inputs < values.length; row++) {
        const channel = quantizeChannel(values.subarray(row * inputs, (row + 1) * inputs));
        scales[from + row] = channel.scale;
        for (let input = 0; input < inputs; input++) {
          codes[input * outputs + from + row] = channel.codes[input] as number;
        }
      }
    }
    this.scales = scales;
    yield bytesOf(codes);
  }
}

/**
 * The weights of one output channel as codes times a scale. No two neighbours (the first and second, the third and
 * fourth …) add up to more than 128: processors without VNNI sum the products of two neighbours in 16 bits and cut off
 * what does not fit, and 255 times 128 does.
 */
export function quantizeChannel(weights: Float32Array): { codes: Int8Array; scale: number } {
  let largest = 0;
  for (let index = 0; index < weights.length; index += 2) {
    largest = Math.max(largest, Math.abs(weights[index] ?? 0) + Math.abs(weights[index + 1] ?? 0));
  }
  const inverse = largest === 0 ? 0 : largestCode / largest;
  return { codes: Int8Array.from(weights, (weight) => Math.round(weight * inverse)), scale: largest / largestCode };
}
