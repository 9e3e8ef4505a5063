import { readFloat16 } from '#common';
import type { GgufType } from './gguf-types.js';
import { iq2xxsGrid } from './iq2xxs-grid.js';
import { dequantizeQ2K, dequantizeQ3K, dequantizeQ4K, dequantizeQ5K, dequantizeQ6K } from './k-quants.js';

/** Writes the values of the block at `from` to `values` from `to` on. */
export type BlockReader = (bytes: Uint8Array, from: number, values: Float32Array, to: number) => void;

const readers: Record<string, BlockReader> = {
  F16: (bytes, from, values, to) => {
    values[to] = readFloat16(bytes, from);
  },
  BF16: (bytes, from, values, to) => {
    values[to] = brainFloat(bytes, from);
  },
  Q4_0: (bytes, from, values, to) => dequantizeFour({ bytes, from, values, to, offset: 2, shift: -8, minimum: 0 }),
  Q4_1: (bytes, from, values, to) =>
    dequantizeFour({ bytes, from, values, to, offset: 4, shift: 0, minimum: readFloat16(bytes, from + 2) }),
  Q5_0: (bytes, from, values, to) => dequantizeFive({ bytes, from, values, to, offset: 2, shift: -16, minimum: 0 }),
  Q5_1: (bytes, from, values, to) =>
    dequantizeFive({ bytes, from, values, to, offset: 4, shift: 0, minimum: readFloat16(bytes, from + 2) }),
  Q8_0: dequantizeQ8,
  Q2_K: dequantizeQ2K,
  Q3_K: dequantizeQ3K,
  Q4_K: dequantizeQ4K,
  Q5_K: dequantizeQ5K,
  Q6_K: dequantizeQ6K,
  IQ2_XXS: dequantizeIQ2XXS,
};

/** Returns the values of whole blocks of a tensor. */
export function dequantize(type: GgufType, bytes: Uint8Array<ArrayBuffer>): Float32Array {
  if (type.name === 'F32') return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const read = readers[type.name];
  if (!read) throw new Error(`Unsupported type ${type.name}.`);
  const blocks = bytes.length / type.bytes;
  const values = new Float32Array(blocks * type.values);
  for (let block = 0; block < blocks; block++) read(bytes, block * type.bytes, values, block * type.values);
  return values;
}

const word = new Uint32Array(1);
const wordAsFloat = new Float32Array(word.buffer);

/** A bfloat16 is the upper half of a float32. */
function brainFloat(bytes: Uint8Array, from: number): number {
  word[0] = ((bytes[from] as number) << 16) | ((bytes[from + 1] as number) << 24);
  return wordAsFloat[0] ?? 0;
}

interface NibbleBlock {
  bytes: Uint8Array;
  from: number;
  values: Float32Array;
  to: number;
  /** Offset of the codes (or their fifth bits), after scale and minimum. */
  offset: number;
  /** Added to a code before scaling. */
  shift: number;
  /** Added to a value after scaling. */
  minimum: number;
}

/** 32 four-bit codes: the first half in the lower nibbles, the second in the upper. */
function dequantizeFour({ bytes, from, values, to, offset, shift, minimum }: NibbleBlock): void {
  const scale = readFloat16(bytes, from);
  for (let index = 0; index < 16; index++) {
    const byte = bytes[from + offset + index] as number;
    values[to + index] = ((byte & 15) + shift) * scale + minimum;
    values[to + index + 16] = ((byte >> 4) + shift) * scale + minimum;
  }
}

/** Like four bits, preceded by the fifth bits of all codes in 32 bits. */
function dequantizeFive({ bytes, from, values, to, offset, shift, minimum }: NibbleBlock): void {
  const scale = readFloat16(bytes, from);
  const fifth = uint32(bytes, from + offset);
  for (let index = 0; index < 16; index++) {
    const byte = bytes[from + offset + 4 + index] as number;
    const low = (byte & 15) | (((fifth >>> index) & 1) << 4);
    const high = (byte >> 4) | (((fifth >>> (index + 16)) & 1) << 4);
    values[to + index] = (low + shift) * scale + minimum;
    values[to + index + 16] = (high + shift) * scale + minimum;
  }
}

function dequantizeQ8(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  for (let index = 0; index < 32; index++)
    values[to + index] = (((bytes[from + 2 + index] as number) << 24) >> 24) * scale;
}

function uint32(bytes: Uint8Array, from: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]];
  return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
}

/** Seven stored signs of eight weights; the eighth makes their parity even. */
const evenSigns = Uint8Array.from({ length: 128 }, (_, signs) => {
  let ones = 0;
  for (let bits = signs; bits > 0; bits >>= 1) ones += bits & 1;
  return signs | ((ones & 1) << 7);
});

/** Eight groups of 32: four code points of eight magnitudes, then 4 times 7 signs and a 4-bit scale. */
function dequantizeIQ2XXS(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from) * 0.25;
  for (let group = 0; group < 8; group++) {
    const start = from + 2 + group * 8;
    const packed = uint32(bytes, start + 4);
    const groupScale = scale * (0.5 + (packed >>> 28));
    for (let point = 0; point < 4; point++) {
      const grid = (bytes[start + point] as number) * 8;
      const signs = evenSigns[(packed >>> (7 * point)) & 127] as number;
      const target = to + group * 32 + point * 8;
      for (let index = 0; index < 8; index++) {
        const magnitude = groupScale * (iq2xxsGrid[grid + index] as number);
        values[target + index] = (signs >> index) & 1 ? -magnitude : magnitude;
      }
    }
  }
}
