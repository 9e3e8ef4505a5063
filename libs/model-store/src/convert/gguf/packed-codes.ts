import { uint32 } from './little-endian.js';

/* Codes of the types with blocks of 32 values. */

/** Reads 32 four-bit codes: the first half from the lower nibbles, the second from the upper. */
export function readFourBits(bytes: Uint8Array, from: number, codes: Uint8Array): void {
  for (let index = 0; index < 16; index++) {
    const byte = bytes[from + index] as number;
    codes[index] = byte & 15;
    codes[index + 16] = byte >> 4;
  }
}

/** Like four bits, preceded by the fifth bits of all codes in 32 bits. */
export function readFiveBits(bytes: Uint8Array, from: number, codes: Uint8Array): void {
  const fifth = uint32(bytes, from);
  readFourBits(bytes, from + 4, codes);
  for (let index = 0; index < 32; index++) codes[index] = (codes[index] as number) | (((fifth >>> index) & 1) << 4);
}
