/* Numbers at any byte of a block. */

export function uint16(bytes: Uint8Array, from: number): number {
  return (bytes[from] as number) | ((bytes[from + 1] as number) << 8);
}

export function uint32(bytes: Uint8Array, from: number): number {
  return (uint16(bytes, from) | (uint16(bytes, from + 2) << 16)) >>> 0;
}

/** Returns the byte as a signed number. */
export function int8(bytes: Uint8Array, from: number): number {
  return ((bytes[from] as number) << 24) >> 24;
}
