import { readFloat16 } from '#common';
import type { GgufType } from './gguf-types.js';
import { readFiveBits, readFourBits } from './packed-codes.js';
import { twoBitCodes } from './k-quants.js';

/*
 * Types whose groups of values have a minimum beside their scale: a value is `scale * code - minimum`. Scales and minima
 * are products of few bits, so that float32 has them to the bit.
 */

/** Codes of one block, and scales and minima of its groups. */
interface MinimumBlock {
  codes: Uint8Array;
  scales: Float32Array;
  minima: Float32Array;
}

interface MinimumType {
  /** Values that share scale and minimum. */
  group: number;
  /** Bits of a code. */
  bits: number;
  /** Reads the block at `from`. */
  read: (bytes: Uint8Array, from: number, block: MinimumBlock) => void;
}

const types: Readonly<Record<string, MinimumType>> = {
  Q4_1: { group: 32, bits: 4, read: readQ41 },
  Q5_1: { group: 32, bits: 5, read: readQ51 },
  Q2_K: { group: 16, bits: 2, read: readQ2K },
  Q4_K: { group: 32, bits: 4, read: readQ4K },
  Q5_K: { group: 32, bits: 5, read: readQ5K },
};

export function hasMinima({ name }: GgufType): boolean {
  return Object.hasOwn(types, name);
}

/** Writes the values of blocks of a type that has minima. */
export function dequantizeMinima(type: GgufType, bytes: Uint8Array, values: Float32Array): void {
  forEachBlock(type, bytes, ({ codes, scales, minima }, first) => {
    const group = codes.length / scales.length;
    for (let index = 0; index < codes.length; index++) {
      const own = Math.floor(index / group);
      values[first + index] = (scales[own] as number) * (codes[index] as number) - (minima[own] as number);
    }
  });
}

/**
 * Returns rows as `WeightSource.blockRows` has them: a value is `code * scale + offset`. The middle of the codes becomes
 * zero, which keeps the offsets small.
 */
export function readOffsetRows(type: GgufType, bytes: Uint8Array, columns: number): Float32Array {
  const { group, bits } = typeOf(type);
  const zero = 2 ** (bits - 1);
  const groups = columns / group;
  const length = columns + 2 * groups;
  const rows = new Float32Array(((bytes.length / type.bytes) * type.values * length) / columns);
  forEachBlock(type, bytes, ({ codes, scales, minima }, first) => {
    const start = Math.floor(first / columns) * length;
    const column = first % columns;
    for (let index = 0; index < codes.length; index++) rows[start + column + index] = (codes[index] as number) - zero;
    for (let index = 0; index < scales.length; index++) {
      const target = start + columns + column / group + index;
      const scale = scales[index] as number;
      rows[target] = scale;
      rows[target + groups] = zero * scale - (minima[index] as number);
    }
  });
  return rows;
}

function typeOf({ name }: GgufType): MinimumType {
  const type = types[name];
  if (!type) throw new Error(`${name} has no minima.`);
  return type;
}

/** Visits blocks with the position of their first value. The same block is filled again and again. */
function forEachBlock(type: GgufType, bytes: Uint8Array, visit: (block: MinimumBlock, first: number) => void): void {
  const { group, read } = typeOf(type);
  const groups = type.values / group;
  const block = {
    codes: new Uint8Array(type.values),
    scales: new Float32Array(groups),
    minima: new Float32Array(groups),
  };
  for (let index = 0; index * type.bytes < bytes.length; index++) {
    read(bytes, index * type.bytes, block);
    visit(block, index * type.values);
  }
}

function readQ41(bytes: Uint8Array, from: number, { codes, scales, minima }: MinimumBlock): void {
  scales[0] = readFloat16(bytes, from);
  minima[0] = -readFloat16(bytes, from + 2);
  readFourBits(bytes, from + 4, codes);
}

function readQ51(bytes: Uint8Array, from: number, { codes, scales, minima }: MinimumBlock): void {
  scales[0] = readFloat16(bytes, from);
  minima[0] = -readFloat16(bytes, from + 2);
  readFiveBits(bytes, from + 4, codes);
}

/** 16 groups of 16: 4-bit scales and minima, 2-bit codes spread over 32 bytes by their shift. */
function readQ2K(bytes: Uint8Array, from: number, { codes, scales, minima }: MinimumBlock): void {
  const scale = readFloat16(bytes, from + 80);
  const minimum = readFloat16(bytes, from + 82);
  for (let group = 0; group < 16; group++) {
    const packed = bytes[from + group] as number;
    scales[group] = scale * (packed & 15);
    minima[group] = minimum * (packed >> 4);
    const { start, shift } = twoBitCodes(group);
    for (let index = 0; index < 16; index++) {
      codes[group * 16 + index] = ((bytes[from + 16 + start + index] as number) >> shift) & 3;
    }
  }
}

/** Eight groups of 32: 6-bit scales and minima in 12 bytes, 4-bit codes. */
function readQ4K(bytes: Uint8Array, from: number, block: MinimumBlock): void {
  readGroups(bytes, from, block);
  readNibbles(bytes, from + 16, block);
}

/** Like Q4_K, with the fifth bits of all groups in 32 bytes between scales and codes. */
function readQ5K(bytes: Uint8Array, from: number, block: MinimumBlock): void {
  readGroups(bytes, from, block);
  readNibbles(bytes, from + 48, block);
  const { codes } = block;
  for (let index = 0; index < 256; index++) {
    const fifth = ((bytes[from + 16 + (index & 31)] as number) >> (index >> 5)) & 1;
    codes[index] = (codes[index] as number) | (fifth << 4);
  }
}

/** Two groups of 32 codes share 32 bytes, the first in the lower halves. */
function readNibbles(bytes: Uint8Array, from: number, { codes }: MinimumBlock): void {
  for (let index = 0; index < 256; index++) {
    const byte = bytes[from + (index >> 6) * 32 + (index & 31)] as number;
    codes[index] = (byte >> ((index >> 3) & 4)) & 15;
  }
}

function readGroups(bytes: Uint8Array, from: number, { scales, minima }: MinimumBlock): void {
  const scale = readFloat16(bytes, from);
  const minimum = readFloat16(bytes, from + 2);
  for (let group = 0; group < 8; group++) {
    scales[group] = scale * scaleOf(bytes, from + 4, group);
    minima[group] = minimum * minimumOf(bytes, from + 4, group);
  }
}

/** Scales of the first four groups are in bytes 0 to 3; the others use nibbles of 8 to 11 and spare bits of 0 to 3. */
function scaleOf(bytes: Uint8Array, from: number, group: number): number {
  if (group < 4) return (bytes[from + group] as number) & 63;
  return ((bytes[from + group + 4] as number) & 15) | (((bytes[from + group - 4] as number) >> 6) << 4);
}

/** Like the scales, in bytes 4 to 7 and the upper nibbles of 8 to 11. */
function minimumOf(bytes: Uint8Array, from: number, group: number): number {
  if (group < 4) return (bytes[from + group + 4] as number) & 63;
  return ((bytes[from + group + 4] as number) >> 4) | (((bytes[from + group] as number) >> 6) << 4);
}
