import { bytesOf, type GraphBuilder, type ValueName } from '../../onnx/index.js';
import { CodesWithScales } from './codes-with-scales.js';
import { inputBands, type LinearLayer, rowPieces } from './row-pieces.js';
import type { WeightSource } from './weight-source.js';

/** Zero point of the inputs; their codes range from 1 to 255. */
const zeroCode = 128;
const largestCode = 127;

/** Codes of a matrix in memory at once: 256 MB. */
const bandValues = 1 << 28;

/**
 * Adds `input × weightᵀ` in integers: int8 weights with a scale per output channel, 8-bit inputs with a dynamic scale
 * per token. The sums are exact, so a token's result does not depend on its batch or on the kernel. If several layers
 * share one input, the runtime quantises it once.
 */
export function emitChannels(
  builder: GraphBuilder,
  weights: WeightSource,
  input: ValueName,
  layer: LinearLayer,
): ValueName {
  const { codes, scale } = quantizeTokens(builder, input);
  return builder.node('Mul', [emitChannelProduct(builder, weights, codes, layer), scale]);
}

/** Adds the product of the codes of `quantizeTokens` and a layer's weights, still without the tokens' scale. */
export function emitChannelProduct(
  builder: GraphBuilder,
  weights: WeightSource,
  codes: ValueName,
  layer: LinearLayer,
): ValueName {
  const { name, inputs, outputs } = layer;
  const content = new CodesWithScales(name, () => channelPieces(weights, layer));
  const weight = builder.weight(`${name}.codes`, 'int8', [inputs, outputs], content.codes);
  const scales = builder.continuedWeight(`${name}.scales`, 'float32', [outputs], content.scales);
  const operands = [codes, weight, builder.float(1), scales, builder.byte(zeroCode)];
  return builder.contribNode('MatMulIntegerToFloat', operands);
}

/**
 * `codes` are uint8 in the input's shape; `scale` is float32 with 1 as the last axis. A token of zeros has scale 0, so
 * its codes do not matter.
 */
export function quantizeTokens(builder: GraphBuilder, input: ValueName): { codes: ValueName; scale: ValueName } {
  const magnitudes = builder.node('Abs', [input]);
  const largest = builder.node('ReduceMax', [magnitudes], { axes: [-1], keepdims: 1 });
  const scale = builder.node('Mul', [largest, builder.float(1 / largestCode)]);
  const scaled = builder.node('Div', [input, scale]);
  const codes = builder.node('QuantizeLinear', [scaled, builder.float(1), builder.byte(zeroCode)]);
  return { codes, scale };
}

/** MatMulIntegerToFloat needs codes as `[inputs, outputs]`, so every row is read before the first is written. */
export async function* channelPieces(
  weights: WeightSource,
  layer: LinearLayer,
  maxValues = bandValues,
): AsyncGenerator<Uint8Array, readonly Float32Array[]> {
  const { inputs, outputs } = layer;
  const scales = new Float32Array(outputs);
  for (const band of inputBands(layer, maxValues)) {
    const codes = new Int8Array((band.to - band.from) * outputs);
    for await (const { from, values } of rowPieces(weights, layer)) {
      for (let row = 0; row * inputs < values.length; row++) {
        const channel = quantizeChannel(values.subarray(row * inputs, (row + 1) * inputs));
        scales[from + row] = channel.scale;
        for (let input = band.from; input < band.to; input++) {
          codes[(input - band.from) * outputs + from + row] = channel.codes[input] as number;
        }
      }
    }
    yield bytesOf(codes);
  }
  return [scales];
}

/**
 * Quantises the weights of one output channel to codes and a scale. Adjacent codes (the first and second, the third and
 * fourth …) add up to at most 128. Processors without VNNI sum the products of two adjacent codes in saturating 16
 * bits, and 255 times 128 fits.
 */
export function quantizeChannel(weights: Float32Array): { codes: Int8Array; scale: number } {
  let largest = 0;
  for (let index = 0; index < weights.length; index += 2) {
    largest = Math.max(largest, Math.abs(weights[index] ?? 0) + Math.abs(weights[index + 1] ?? 0));
  }
  const inverse = largest === 0 ? 0 : largestCode / largest;
  return { codes: Int8Array.from(weights, (weight) => Math.round(weight * inverse)), scale: largest / largestCode };
}
