import { linearFormat, type WeightFormat } from '../conversion-options.js';
import type { GgufHeader, GgufTensor, GgufType } from './gguf-types.js';

/** Bits per weight up to which blocks of four and of eight bits lose next to nothing. */
export const maxStoredBits = { int4: 5, int8: 9 } as const;

/** The engine's format that has the precision of the file, on average over its matrices. */
export function samePrecision(header: GgufHeader): WeightFormat {
  const all = matrices(header);
  const bytes = all.reduce((sum, tensor) => sum + tensor.bytes, 0);
  return formatOfBits((8 * bytes) / all.reduce((sum, tensor) => sum + valuesOf(tensor), 0));
}

/** Returns the engine's format of the same precision as a type of `bits` bits per weight. */
export function formatOfBits(bits: number): WeightFormat {
  if (bits <= maxStoredBits.int4) return 'int4';
  return bits <= maxStoredBits.int8 ? 'int8' : 'float32';
}

/** Whether layers of the format, in blocks of 32, hold values that the type does not have. */
export function isRoundedAgain({ values, kept }: GgufType, weights: WeightFormat): boolean {
  const format = linearFormat(weights, 32);
  if (values === 1 || format.kind === 'float32') return false;
  return format.kind !== 'blocks' || !kept || kept.bits > format.bits || kept.blockSize < format.blockSize;
}

/** Types of the matrices of layers, by name. */
export function layerTypes(header: GgufHeader): GgufType[] {
  const layers = matrices(header).filter(({ name }) => name.startsWith('blk.'));
  const types = new Set(layers.map(({ type }) => type));
  return [...types].sort((left, right) => left.name.localeCompare(right.name));
}

export function matrices(header: GgufHeader): GgufTensor[] {
  return [...header.tensors.values()].filter(({ dimensions }) => dimensions.length > 1);
}

export function valuesOf({ dimensions }: GgufTensor): number {
  return dimensions.reduce((product, size) => product * size, 1);
}
