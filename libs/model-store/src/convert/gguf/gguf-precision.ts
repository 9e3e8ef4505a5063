import type { WeightFormat } from '../conversion-options.js';
import type { GgufHeader, GgufTensor } from './gguf-types.js';

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

export function matrices(header: GgufHeader): GgufTensor[] {
  return [...header.tensors.values()].filter(({ dimensions }) => dimensions.length > 1);
}

export function valuesOf({ dimensions }: GgufTensor): number {
  return dimensions.reduce((product, size) => product * size, 1);
}
