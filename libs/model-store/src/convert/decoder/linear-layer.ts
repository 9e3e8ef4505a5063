import { isDeepStrictEqual } from 'node:util';
import { bytesOf, type GraphBuilder, type TensorContent, type ValueName } from '../../onnx/index.js';
import { encodeFloat16Array } from '#common';
import { blocksPerRow, quantizeRows, type BlockFormat } from './quantize-blocks.js';
import { emitChannels } from './channel-linear.js';
import { CodesWithScales } from './codes-with-scales.js';
import { emitBlockSums, keptBlockPieces } from './offset-blocks.js';
import { accuracyLevel, emitPacked } from './packed-linear.js';
import { inputBands, type LinearLayer, rowPieces } from './row-pieces.js';
import type { WeightSource } from './weight-source.js';

export type { LinearLayer } from './row-pieces.js';

/** Values of a transposed matrix in memory at once: 256 MB. */
const bandValues = 1 << 26;

/** Storage of linear layers: floats, integers with a scale per output channel, or with one per block. */
export type LinearFormat =
  { kind: 'float32' } | { kind: 'float16' } | { kind: 'channels' } | ({ kind: 'blocks' } & StoredBlocks);

export interface StoredBlocks extends BlockFormat {
  /** Keeps the blocks of the source, which have an offset beside their scale. */
  hasOffset?: true;
  /** Keeps the blocks of the source, which have a scale only. */
  keepsCodes?: true;
}

/** Returns the narrowest format that holds the values of all: the same, or one that none of them needs alone. */
export function widestFormat(formats: readonly LinearFormat[]): LinearFormat {
  const [first, ...others] = formats;
  if (first === undefined) throw new Error('There are no formats.');
  if (others.every((other) => isDeepStrictEqual(other, first))) return first;
  const blocks = formats.flatMap((format) => (format.kind === 'blocks' ? [format.blockSize] : []));
  const keepsCodes = formats.some((format) => format.kind === 'blocks' && format.keepsCodes);
  if (blocks.length < formats.length || keepsCodes) return { kind: 'float32' };
  return { kind: 'blocks', bits: 8, blockSize: Math.min(...blocks) as BlockFormat['blockSize'] };
}

/** Adds `input × weightᵀ` to the graph. */
export function emitLinear(
  builder: GraphBuilder,
  weights: WeightSource,
  format: LinearFormat,
  input: ValueName,
  layer: LinearLayer,
): ValueName {
  const packed = weights.packed?.(layer.name);
  if (packed) return emitPacked(builder, packed, input, layer);
  if (format.kind === 'blocks') {
    const { product, shift } = emitBlocks(builder, weights, format, { input }, layer);
    return shift === null ? product : builder.node('Add', [product, shift]);
  }
  if (format.kind === 'channels') return emitChannels(builder, weights, input, layer);
  const dimensions = [layer.inputs, layer.outputs];
  const weight = builder.weight(layer.name, format.kind, dimensions, () => transposed(weights, format.kind, layer));
  return builder.node('MatMul', [input, weight]);
}

/**
 * Adds a product of blocks. `sums` are those of the input's blocks; default: of a batch of sequences. `shift` is what their offsets add
 * to the product, null without any.
 */
export function emitBlocks(
  builder: GraphBuilder,
  weights: WeightSource,
  format: StoredBlocks,
  { input, sums }: { input: ValueName; sums?: ValueName },
  layer: LinearLayer,
): { product: ValueName; shift: ValueName | null } {
  const { blockSize } = format;
  const blocks = addBlocks(builder, weights, format, layer);
  const product = emitBlockProduct(builder, format, { input, ...blocks }, layer);
  if (blocks.offsets === null) return { product, shift: null };
  const shift = builder.node('MatMul', [sums ?? emitBlockSums(builder, input, blockSize), blocks.offsets]);
  return { product, shift };
}

/** Names of the weights of a layer in blocks. */
export interface BlockWeights {
  codes: ValueName;
  scales: ValueName;
  /** Null: blocks without. */
  offsets: ValueName | null;
}

/** Adds the weights of a layer in blocks. */
export function addBlocks(
  builder: GraphBuilder,
  weights: WeightSource,
  format: StoredBlocks,
  layer: LinearLayer,
): BlockWeights {
  const { name, inputs, outputs } = layer;
  const blocks = blocksPerRow(inputs, format);
  const pieces = format.hasOffset || format.keepsCodes ? keptBlockPieces : blockPieces;
  const content = new CodesWithScales(name, () => pieces(weights, format, layer));
  const blockBytes = (format.blockSize * format.bits) / 8;
  const codes = builder.weight(`${name}.codes`, 'uint8', [outputs, blocks, blockBytes], content.codes);
  const scales = builder.continuedWeight(`${name}.scales`, 'float32', [outputs * blocks], content.scales);
  if (!format.hasOffset) return { codes, scales, offsets: null };
  const offsets = builder.continuedWeight(`${name}.offsets`, 'float32', [blocks, outputs], content.offsets);
  return { codes, scales, offsets };
}

/** Adds a product with blocks, without what their offsets add to it. */
export function emitBlockProduct(
  builder: GraphBuilder,
  { bits, blockSize }: StoredBlocks,
  { input, codes, scales }: { input: ValueName } & Omit<BlockWeights, 'offsets'>,
  { inputs, outputs }: LinearLayer,
): ValueName {
  const sizes = { K: inputs, N: outputs, bits, block_size: blockSize };
  return builder.contribNode('MatMulNBits', [input, codes, scales], { ...sizes, accuracy_level: accuracyLevel });
}

async function* blockPieces(
  weights: WeightSource,
  format: BlockFormat,
  layer: LinearLayer,
): AsyncGenerator<Uint8Array, readonly Float32Array[]> {
  const blocks = blocksPerRow(layer.inputs, format);
  const scales = new Float32Array(layer.outputs * blocks);
  for await (const { from, values } of rowPieces(weights, layer)) {
    const piece = quantizeRows(values, layer.inputs, format);
    scales.set(piece.scales, from * blocks);
    yield piece.codes;
  }
  return [scales];
}

/** Yields a weight as `[inputs, outputs]`, `maxValues` at once. */
export async function* transposed(
  weights: WeightSource,
  kind: 'float32' | 'float16',
  layer: LinearLayer,
  maxValues = bandValues,
): AsyncGenerator<Uint8Array> {
  const { inputs, outputs } = layer;
  for (const band of inputBands(layer, maxValues)) {
    const result = new Float32Array((band.to - band.from) * outputs);
    for await (const { from, values } of rowPieces(weights, layer)) {
      const rows = values.length / inputs;
      for (let row = 0; row < rows; row++) {
        for (let column = band.from; column < band.to; column++) {
          result[(column - band.from) * outputs + from + row] = values[row * inputs + column] as number;
        }
      }
    }
    yield bytesOf(kind === 'float16' ? encodeFloat16Array(result) : result);
  }
}

/** Adds the embedding table in the layout of the source: `[vocabulary, hidden]`. */
export function embeddingContent(
  weights: WeightSource,
  kind: 'float32' | 'float16',
  layer: LinearLayer,
): TensorContent {
  return async function* () {
    for await (const { values } of rowPieces(weights, layer)) {
      yield bytesOf(kind === 'float16' ? encodeFloat16Array(values) : values);
    }
  };
}

/** Adds a norm's gain or a bias. */
export function vectorContent(weights: WeightSource, kind: 'float32' | 'float16', name: string): TensorContent {
  return async function* () {
    const values = await weights.vector(name);
    yield bytesOf(kind === 'float16' ? encodeFloat16Array(values) : values);
  };
}
