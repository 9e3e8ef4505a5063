import { readFloat16 } from '#common';
import { uint16 } from './little-endian.js';

/*
 * Quantisations whose codes select one of a few levels: 4-bit codes of uneven levels, and three levels (ternary). All
 * readers below are `BlockReader`s.
 */

/** Levels of IQ4_NL and IQ4_XS: close together where weights are dense. */
const unevenLevels = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

/** Twice the values of a float of 4 bits with 2 bits of exponent. */
const float4Levels = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

interface LevelCodes {
  bytes: Uint8Array;
  /** 16 bytes: the first half of the codes in their lower halves, the second in their upper ones. */
  from: number;
  levels: Int8Array;
  scale: number;
}

function writeLevels({ bytes, from, levels, scale }: LevelCodes, values: Float32Array, to: number): void {
  for (let index = 0; index < 16; index++) {
    const byte = bytes[from + index] as number;
    values[to + index] = scale * (levels[byte & 15] as number);
    values[to + index + 16] = scale * (levels[byte >> 4] as number);
  }
}

export function dequantizeIQ4NL(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  writeLevels({ bytes, from: from + 2, levels: unevenLevels, scale: readFloat16(bytes, from) }, values, to);
}

/** Eight groups of 32 with 6-bit scales: the upper two bits in a word, the lower four in the four bytes after it. */
export function dequantizeIQ4XS(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  const highs = uint16(bytes, from + 2);
  for (let group = 0; group < 8; group++) {
    const low = ((bytes[from + 4 + (group >> 1)] as number) >> (4 * (group & 1))) & 15;
    const groupScale = scale * ((low | (((highs >> (2 * group)) & 3) << 4)) - 32);
    const codes = { bytes, from: from + 8 + group * 16, levels: unevenLevels, scale: groupScale };
    writeLevels(codes, values, to + group * 32);
  }
}

/** 32 floats of 4 bits with one exponent, a power of two, halved because the levels are doubled. */
export function dequantizeMXFP4(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = 2 ** ((bytes[from] as number) - 128);
  writeLevels({ bytes, from: from + 1, levels: float4Levels, scale }, values, to);
}

/** Three levels, four to a byte: 2 bits each, spread over 32 bytes by their shift. */
export function dequantizeTQ2(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from + 64);
  for (let index = 0; index < 256; index++) {
    const byte = bytes[from + (index >> 7) * 32 + (index & 31)] as number;
    values[to + index] = scale * (((byte >> (((index >> 5) & 3) * 2)) & 3) - 1);
  }
}

/** Runs of bytes of TQ1_0, and the number of levels in a byte of each. */
const runsTQ1 = [
  { from: 0, bytes: 32, levels: 5 },
  { from: 32, bytes: 16, levels: 5 },
  { from: 48, bytes: 4, levels: 4 },
] as const;

/** Three levels, up to five to a byte: digits of base 3 behind the point, so times 3 moves the next one before it. */
export function dequantizeTQ1(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from + 52);
  let target = to;
  for (const run of runsTQ1) {
    for (let level = 0, power = 1; level < run.levels; level++, power *= 3) {
      for (let index = 0; index < run.bytes; index++) {
        const rest = ((bytes[from + run.from + index] as number) * power) & 255;
        values[target] = scale * (((rest * 3) >> 8) - 1);
        target += 1;
      }
    }
  }
}
