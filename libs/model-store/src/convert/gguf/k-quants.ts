import { readFloat16 } from '#common';

/*
 * The "K" quantisations of GGUF without minima: super-blocks of 256 values with half-precision scales, split into groups
 * whose own scales are a few bits wide. The readers below are `BlockReader`s.
 */

/** Returns the position of a group's 2-bit codes: 128 values share 32 bytes, 32 values per shift. */
export function twoBitCodes(group: number): { start: number; shift: number } {
  return { start: (group >> 3) * 32 + (group & 1) * 16, shift: ((group >> 1) & 3) * 2 };
}

/** 16 groups of 16: 2-bit codes, a third bit in the first 32 bytes (clear: minus 4) and signed 6-bit scales. */
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
