import { readFloat16 } from '#common';
import { gridIQ1, gridIQ2S, gridIQ2XS, gridIQ2XXS, gridIQ3S, gridIQ3XXS } from './iq-grids.js';
import { uint16, uint32 } from './little-endian.js';

/*
 * The "IQ" quantisations of GGUF: super-blocks of 256 values whose codes select rows of levels, with a sign for each
 * value (2 and 3 bits) or a shift for each row (1 bit). All readers below are `BlockReader`s.
 */

/** Seven stored signs of eight weights; the eighth makes their parity even. */
const evenSigns = Uint8Array.from({ length: 128 }, (_, signs) => {
  let ones = 0;
  for (let bits = signs; bits > 0; bits >>= 1) ones += bits & 1;
  return signs | ((ones & 1) << 7);
});

interface SignedPoint {
  grid: Int8Array;
  /** Index of the code point in the grid. */
  point: number;
  /** Values of the code point. */
  size: 4 | 8;
  scale: number;
  /** A bit for each value, the lowest first. */
  signs: number;
}

function writeSigned({ grid, point, size, scale, signs }: SignedPoint, values: Float32Array, to: number): void {
  for (let index = 0; index < size; index++) {
    const magnitude = scale * (grid[point * size + index] as number);
    values[to + index] = (signs >> index) & 1 ? -magnitude : magnitude;
  }
}

/** Returns the 4-bit number at `index`, the lower half of a byte first. */
function nibble(bytes: Uint8Array, from: number, index: number): number {
  return ((bytes[from + (index >> 1)] as number) >> (4 * (index & 1))) & 15;
}

/** Eight groups of 32: four code points, then four times seven signs and a 4-bit scale. */
export function dequantizeIQ2XXS(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from) * 0.25;
  for (let point = 0; point < 32; point++) {
    const group = from + 2 + (point >> 2) * 8;
    const packed = uint32(bytes, group + 4);
    const signs = evenSigns[(packed >>> (7 * (point & 3))) & 127] as number;
    const code = bytes[group + (point & 3)] as number;
    const signed = { grid: gridIQ2XXS, point: code, size: 8, scale: scale * (0.5 + (packed >>> 28)), signs } as const;
    writeSigned(signed, values, to + point * 8);
  }
}

/** 32 code points of nine bits with seven signs each, then a 4-bit scale for every two. */
export function dequantizeIQ2XS(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from) * 0.25;
  for (let point = 0; point < 32; point++) {
    const packed = uint16(bytes, from + 2 + point * 2);
    const signs = evenSigns[packed >> 9] as number;
    const groupScale = scale * (0.5 + nibble(bytes, from + 66, point >> 1));
    const signed = { grid: gridIQ2XS, point: packed & 511, size: 8, scale: groupScale, signs } as const;
    writeSigned(signed, values, to + point * 8);
  }
}

/** 32 code points, then their signs, their upper two bits, and a 4-bit scale for every two. */
export function dequantizeIQ2S(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from) * 0.25;
  for (let point = 0; point < 32; point++) {
    const high = ((bytes[from + 66 + (point >> 2)] as number) >> (2 * (point & 3))) & 3;
    const code = (bytes[from + 2 + point] as number) | (high << 8);
    const groupScale = scale * (0.5 + nibble(bytes, from + 74, point >> 1));
    const signs = bytes[from + 34 + point] as number;
    writeSigned({ grid: gridIQ2S, point: code, size: 8, scale: groupScale, signs }, values, to + point * 8);
  }
}

/** 64 code points of four values, then for every eight of them four times seven signs and a 4-bit scale. */
export function dequantizeIQ3XXS(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from) * 0.5;
  for (let point = 0; point < 64; point++) {
    const packed = uint32(bytes, from + 66 + (point >> 3) * 4);
    const signs = (evenSigns[(packed >>> (7 * ((point >> 1) & 3))) & 127] as number) >> (4 * (point & 1));
    const code = bytes[from + 2 + point] as number;
    const signed = { grid: gridIQ3XXS, point: code, size: 4, scale: scale * (0.5 + (packed >>> 28)), signs } as const;
    writeSigned(signed, values, to + point * 4);
  }
}

/** 64 code points of four values, then their ninth bits, signs, and a 4-bit scale for every eight. */
export function dequantizeIQ3S(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  for (let point = 0; point < 64; point++) {
    const ninth = ((bytes[from + 66 + (point >> 3)] as number) >> (point & 7)) & 1;
    const code = (bytes[from + 2 + point] as number) | (ninth << 8);
    const groupScale = scale * (1 + 2 * nibble(bytes, from + 106, point >> 3));
    const signs = nibble(bytes, from + 74, point);
    writeSigned({ grid: gridIQ3S, point: code, size: 4, scale: groupScale, signs }, values, to + point * 4);
  }
}

const shiftIQ1 = 0.125;

function writeShifted(point: number, scale: number, shift: number, values: Float32Array, to: number): void {
  for (let index = 0; index < 8; index++) {
    values[to + index] = scale * ((gridIQ1[point * 8 + index] as number) + shift);
  }
}

/** 32 code points, then for every four their upper three bits, a 3-bit scale and the sign of the shift. */
export function dequantizeIQ1S(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  for (let point = 0; point < 32; point++) {
    const packed = uint16(bytes, from + 34 + (point >> 2) * 2);
    const code = (bytes[from + 2 + point] as number) | (((packed >> (3 * (point & 3))) & 7) << 8);
    const groupScale = scale * (2 * ((packed >> 12) & 7) + 1);
    writeShifted(code, groupScale, packed & 0x8000 ? -shiftIQ1 : shiftIQ1, values, to + point * 8);
  }
}

/**
 * 32 code points, then half a byte each: their upper three bits and the sign of the shift. Four words hold a 3-bit scale
 * for every two points, and in their upper halves a byte's half each of the block's scale.
 */
export function dequantizeIQ1M(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(scaleIQ1M(bytes, from + 48), 0);
  for (let point = 0; point < 32; point++) {
    const high = nibble(bytes, from + 32, point);
    const code = (bytes[from + point] as number) | ((high & 7) << 8);
    const packed = uint16(bytes, from + 48 + (point >> 3) * 2);
    const groupScale = scale * (2 * ((packed >> (3 * ((point >> 1) & 3))) & 7) + 1);
    writeShifted(code, groupScale, high & 8 ? -shiftIQ1 : shiftIQ1, values, to + point * 8);
  }
}

function scaleIQ1M(bytes: Uint8Array, from: number): Uint8Array {
  const part = (index: number) => (bytes[from + index * 2 + 1] as number) >> 4;
  return Uint8Array.of(part(0) | (part(1) << 4), part(2) | (part(3) << 4));
}
