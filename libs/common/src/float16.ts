const decodeTable = buildDecodeTable();
const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** Decodes an IEEE half-precision bit pattern. */
export function decodeFloat16(half: number): number {
  return decodeTable[half] ?? 0;
}

/** Reads the little-endian half-precision number at `from`. */
export function readFloat16(bytes: Uint8Array, from: number): number {
  return decodeFloat16((bytes[from] as number) | ((bytes[from + 1] as number) << 8));
}

/** Returns the nearest half-precision bit pattern, ties to even; overflow becomes infinity. */
export function encodeFloat16(value: number): number {
  float[0] = value;
  const word = bits[0] ?? 0;
  const sign = (word >>> 16) & 0x8000;
  const magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  // Below 2^-14 a half is a multiple of 2^-24.
  if (magnitude < 0x38800000) return sign | roundToEven(Math.abs(value) * 2 ** 24);
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

export function encodeFloat16Array(values: Float32Array): Uint16Array {
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < values.length; index++) halves[index] = encodeFloat16(values[index] ?? 0);
  return halves;
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function buildDecodeTable(): Float32Array {
  const table = new Float32Array(65536);
  for (let half = 0; half < 65536; half++) {
    const sign = half >> 15 ? -1 : 1;
    const exponent = (half >> 10) & 31;
    const mantissa = half & 1023;
    if (exponent === 0) table[half] = sign * mantissa * 2 ** -24;
    else if (exponent === 31) table[half] = mantissa === 0 ? sign * Infinity : NaN;
    else table[half] = sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
  }
  return table;
}
