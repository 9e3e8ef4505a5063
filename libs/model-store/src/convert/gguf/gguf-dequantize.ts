import { readFloat16 } from '#common';
import type { GgufType } from './gguf-types.js';
import {
  dequantizeIQ1M,
  dequantizeIQ1S,
  dequantizeIQ2S,
  dequantizeIQ2XS,
  dequantizeIQ2XXS,
  dequantizeIQ3S,
  dequantizeIQ3XXS,
} from './iq-quants.js';
import { dequantizeQ2K, dequantizeQ3K, dequantizeQ4K, dequantizeQ5K, dequantizeQ6K } from './k-quants.js';
import { dequantizeIQ4NL, dequantizeIQ4XS, dequantizeMXFP4, dequantizeTQ1, dequantizeTQ2 } from './level-quants.js';
import { int8, uint32 } from './little-endian.js';

/** Writes the values of the block at `from` to `values` from `to` on. */
export type BlockReader = (bytes: Uint8Array, from: number, values: Float32Array, to: number) => void;

const readers: Record<string, BlockReader> = {
  F16: (bytes, from, values, to) => {
    values[to] = readFloat16(bytes, from);
  },
  BF16: (bytes, from, values, to) => {
    values[to] = brainFloat(bytes, from);
  },
  Q4_0: (bytes, from, values, to) => dequantizeFour({ bytes, from, values, to, offset: 2, shift: -8, minimum: -0 }),
  Q4_1: (bytes, from, values, to) =>
    dequantizeFour({ bytes, from, values, to, offset: 4, shift: 0, minimum: readFloat16(bytes, from + 2) }),
  Q5_0: (bytes, from, values, to) => dequantizeFive({ bytes, from, values, to, offset: 2, shift: -16, minimum: -0 }),
  Q5_1: (bytes, from, values, to) =>
    dequantizeFive({ bytes, from, values, to, offset: 4, shift: 0, minimum: readFloat16(bytes, from + 2) }),
  Q8_0: dequantizeQ8,
  Q2_K: dequantizeQ2K,
  Q3_K: dequantizeQ3K,
  Q4_K: dequantizeQ4K,
  Q5_K: dequantizeQ5K,
  Q6_K: dequantizeQ6K,
  IQ1_S: dequantizeIQ1S,
  IQ1_M: dequantizeIQ1M,
  IQ2_XXS: dequantizeIQ2XXS,
  IQ2_XS: dequantizeIQ2XS,
  IQ2_S: dequantizeIQ2S,
  IQ3_XXS: dequantizeIQ3XXS,
  IQ3_S: dequantizeIQ3S,
  IQ4_NL: dequantizeIQ4NL,
  IQ4_XS: dequantizeIQ4XS,
  TQ1_0: dequantizeTQ1,
  TQ2_0: dequantizeTQ2,
  MXFP4: dequantizeMXFP4,
};

/** Returns the values of whole blocks of a tensor, to the bit those that ggml's reference computes. */
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
  /** Added to a value after scaling; minus zero changes nothing, not even the sign of a zero. */
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
  for (let index = 0; index < 32; index++) values[to + index] = int8(bytes, from + 2 + index) * scale;
}
