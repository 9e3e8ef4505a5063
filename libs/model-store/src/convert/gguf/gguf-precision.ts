import { productOf } from '#common/values';
import { type BlockSize, linearFormat, type WeightFormat } from '../conversion-options.js';
import type { LinearFormat } from '../decoder/linear-layer.js';
import type { GgufHeader, GgufTensor, GgufType } from './gguf-types.js';

/** Bits per weight up to which blocks of four and of eight bits lose next to nothing. */
const maxStoredBits = { int4: 5, int8: 9 } as const;

function bitsPerWeight({ bytes, values }: GgufType): number {
  return (8 * bytes) / values;
}

/** Returns the engine's format of the same precision as a type. */
export function precisionOf(type: GgufType): WeightFormat {
  const bits = bitsPerWeight(type);
  if (bits <= maxStoredBits.int4) return 'int4';
  return bits <= maxStoredBits.int8 ? 'int8' : 'float32';
}

/**
 * Returns the format of a converted layer in the precision of its type: the type's own blocks if they have at least
 * `blockSize` values. Of 8 bits half as many are enough: the kernel is as fast.
 */
export function storedFormat(type: GgufType, blockSize: BlockSize): LinearFormat {
  const format = linearFormat(precisionOf(type), blockSize);
  if (format.kind !== 'blocks' || !type.kept) return format;
  const { kept } = type;
  const smallest = kept.bits === 8 ? blockSize / 2 : blockSize;
  return kept.bits <= format.bits && kept.blockSize >= smallest ? { kind: 'blocks', ...kept } : format;
}

/**
 * The same for the output layer, whose errors affect the probabilities directly: it has 8 bits if 4 would round. It also has
 * them if it is stored in floats and the layers in blocks, since it would be the largest part of a small model. Files have no
 * minima there, so it is never computed with offsets.
 */
export function storedHead(type: GgufType, blockSize: BlockSize, header: GgufHeader): LinearFormat {
  const format = storedFormat(type, blockSize);
  const int8 = linearFormat('int8', blockSize);
  if (format.kind !== 'blocks') return hasBlocks(header, blockSize) ? int8 : format;
  const isNarrow = format.bits === 4 && isRoundedAgain(type, format);
  return isNarrow || format.hasOffset ? int8 : format;
}

function hasBlocks(header: GgufHeader, blockSize: BlockSize): boolean {
  return layerMatrices(header).some(({ type }) => storedFormat(type, blockSize).kind === 'blocks');
}

/** The same for the embedding table, of which only rows are read. */
export function storedEmbedding({ name }: GgufType): 'float32' | 'float16' {
  return name === 'F32' || name === 'BF16' ? 'float32' : 'float16';
}

/** Whether layers of the format hold values that the type does not have. */
export function isRoundedAgain({ values, kept }: GgufType, format: LinearFormat): boolean {
  if (values === 1 || format.kind === 'float32') return false;
  if (format.kind !== 'blocks' || !kept) return true;
  return kept.bits > format.bits || kept.blockSize < format.blockSize || kept.hasOffset !== format.hasOffset;
}

/** True if blocks of the format hold every value of the type, which has blocks too. */
export function keepsValues(type: GgufType, format: LinearFormat): boolean {
  return type.kept !== undefined && !isRoundedAgain(type, format);
}

/** The matrices of layers: all but embeddings and output layer. */
export function layerMatrices(header: GgufHeader): GgufTensor[] {
  return matrices(header).filter(({ name }) => name.startsWith('blk.'));
}

/** Types of the matrices of layers, by name. */
export function layerTypes(header: GgufHeader): GgufType[] {
  const types = new Set(layerMatrices(header).map(({ type }) => type));
  return [...types].sort((left, right) => left.name.localeCompare(right.name));
}

export function matrices(header: GgufHeader): GgufTensor[] {
  return [...header.tensors.values()].filter(({ dimensions }) => dimensions.length > 1);
}

export function valuesOf({ dimensions }: GgufTensor): number {
  return productOf(dimensions);
}
