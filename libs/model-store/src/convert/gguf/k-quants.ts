import { readFloat16 } from '#common';

/*
 * The "K" quantisations of GGUF: super-blocks of 256 values with half-precision scales, split into groups whose own
 * scales are a few bits wide. All readers below are `BlockReader`s.
 */

/** 16 groups of 16: 4-bit scales and minima, 2-bit codes spread over 32 bytes by their shift. */
export function dequantizeQ2K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from + 80);
  const minimum = readFloat16(bytes, from + 82);
  for (let group = 0; group < 16; group++) {
    const packed = bytes[from + group] as number;
    const groupScale = scale * (packed & 15);
    const groupMinimum = minimum * (packed >> 4);
    const { start, shift } = twoBitCodes(group);
    for (let index = 0; index < 16; index++) {
      const code = ((bytes[from + 16 + start + index] as number) >> shift) & 3;
      values[to + group * 16 + index] = groupScale * code - groupMinimum;
    }
  }
}

/** Returns the position of a group's 2-bit codes: 128 values share 32 bytes, 32 values per shift. */
function twoBitCodes(group: number): { start: number; shift: number } {
  return { start: (group >> 3) * 32 + (group & 1) * 16, shift: ((group >> 1) & 3) * 2 };
}

/** Like Q2_K, with a third bit in the first 32 bytes (clear: minus 4) and signed 6-bit scales without minima. */
export function dequantizeQ3K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from + 108);
  for (let group = 0; group < 16; group++) {
    const groupScale = scale * (scaleQ3K(bytes, from + 96, group) - 32);
    const { start, shift } = twoBitCodes(group);
    const thirdBit = group >> 1;
    for (let index = 0; index < 16; index++) {
      const low = ((bytes[from + 32 + start + index] as number) >> shift) & 3;
      const high = ((bytes[from + (group & 1) * 16 + index] as number) >> thirdBit) & 1;
      values[to + group * 16 + index] = groupScale * (high ? low : low - 4);
    }
  }
}

/** Unpacks sixteen 6-bit scales from 12 bytes: lower nibbles in the first eight, upper two bits in the last four. */
function scaleQ3K(bytes: Uint8Array, from: number, group: number): number {
  const lowByte = bytes[from + (group & 7)] as number;
  const low = group < 8 ? lowByte & 15 : lowByte >> 4;
  const high = ((bytes[from + 8 + (group & 3)] as number) >> ((group >> 2) * 2)) & 3;
  return low | (high << 4);
}

/** Eight groups of 32: 6-bit scales and minima in 12 bytes, 4-bit codes. */
export function dequantizeQ4K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  const minimum = readFloat16(bytes, from + 2);
  for (let group = 0; group < 8; group++) {
    const groupScale = scale * scaleQ4K(bytes, from + 4, group);
    const groupMinimum = minimum * minimumQ4K(bytes, from + 4, group);
    const start = from + 16 + (group >> 1) * 32;
    const shift = (group & 1) * 4;
    for (let index = 0; index < 32; index++) {
      const code = ((bytes[start + index] as number) >> shift) & 15;
      values[to + group * 32 + index] = groupScale * code - groupMinimum;
    }
  }
}

/** Like Q4_K, with the fifth bits of all groups in 32 bytes between scales and codes. */
export function dequantizeQ5K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from);
  const minimum = readFloat16(bytes, from + 2);
  for (let group = 0; group < 8; group++) {
    const groupScale = scale * scaleQ4K(bytes, from + 4, group);
    const groupMinimum = minimum * minimumQ4K(bytes, from + 4, group);
    const start = from + 48 + (group >> 1) * 32;
    const shift = (group & 1) * 4;
    for (let index = 0; index < 32; index++) {
      const low = ((bytes[start + index] as number) >> shift) & 15;
      const fifth = ((bytes[from + 16 + index] as number) >> group) & 1;
      values[to + group * 32 + index] = groupScale * (low | (fifth << 4)) - groupMinimum;
    }
  }
}

/** Scales of the first four groups are in bytes 0 to 3; the others use nibbles of 8 to 11 and spare bits of 0 to 3. */
function scaleQ4K(bytes: Uint8Array, from: number, group: number): number {
  if (group < 4) return (bytes[from + group] as number) & 63;
  return ((bytes[from + group + 4] as number) & 15) | (((bytes[from + group - 4] as number) >> 6) << 4);
}

/** Like the scales, in bytes 4 to 7 and the upper nibbles of 8 to 11. */
function minimumQ4K(bytes: Uint8Array, from: number, group: number): number {
  if (group < 4) return (bytes[from + group + 4] as number) & 63;
  return ((bytes[from + group + 4] as number) >> 4) | (((bytes[from + group] as number) >> 6) << 4);
}

/** 16 groups of 16 with signed byte scales; 4-bit codes, followed by two more bits each in 64 bytes. */
export function dequantizeQ6K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = readFloat16(bytes, from + 208);
  for (let group = 0; group < 16; group++) {
    const groupScale = scale * (((bytes[from + 192 + group] as number) << 24) >> 24);
    const inHalf = group & 7;
    const lowStart = from + (group >> 3) * 64 + (inHalf & 3) * 16;
    const lowShift = (inHalf >> 2) * 4;
    const highStart = from + 128 + (group >> 3) * 32 + (inHalf & 1) * 16;
    const highShift = (inHalf >> 1) * 2;
    for (let index = 0; index < 16; index++) {
      const low = ((bytes[lowStart + index] as number) >> lowShift) & 15;
      const high = ((bytes[highStart + index] as number) >> highShift) & 3;
      values[to + group * 16 + index] = groupScale * ((low | (high << 4)) - 32);
    }
  }
}
