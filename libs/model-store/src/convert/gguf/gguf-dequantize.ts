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
import { dequantizeQ3K, dequantizeQ6K } from './k-quants.js';
import { dequantizeIQ4NL, dequantizeIQ4XS, dequantizeMXFP4, dequantizeTQ1, dequantizeTQ2 } from './level-quants.js';
import { int8 } from './little-endian.js';
import { dequantizeMinima, hasMinima } from './minimum-blocks.js';
import { readFiveBits, readFourBits } from './packed-codes.js';

/** Writes the values of the block at `from` to `values` from `to` on. */
export type BlockReader = (bytes: Uint8Array, from: number, values: Float32Array, to: number) => void;

const readers: Record<string, BlockReader> = {
  F16: (bytes, from, values, to) => {
    values[to] = readFloat16(bytes, from);
  },
  BF16: (bytes, from, values, to) => {
    values[to] = brainFloat(bytes, from);
  },
  Q4_0: dequantizeQ40,
  Q5_0: dequantizeQ50,
  Q8_0: dequantizeQ8,
  Q3_K: dequantizeQ3K,
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
  const blocks = bytes.length / type.bytes;
  const values = new Float32Array(blocks * type.values);
  if (hasMinima(type)) {
    dequantizeMinima(type, bytes, values);
    return values;
  }
  const read = readers[type.name];
  if (!read) throw new Error(`Unsupported type ${type.name}.`);
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

const codes = new Uint8Array(32);

function dequantizeQ40(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  readFourBits(bytes, from + 2, codes);
  for (let index = 0; index < 32; index++) values[to + index] = ((codes[index] as number) - 8) * scale;
}

function dequantizeQ50(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  readFiveBits(bytes, from + 2, codes);
  for (let index = 0; index < 32; index++) values[to + index] = ((codes[index] as number) - 16) * scale;
}

function dequantizeQ8(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  for (let index = 0; index < 32; index++) values[to + index] = int8(bytes, from + 2 + index) * scale;
}
