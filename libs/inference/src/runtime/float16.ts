import type { GraphTensor } from './graph-session.js';

/*
 * IEEE half precision. Node 20 has no Float16Array, so half floats travel as bits in a Uint16Array.
 */

const valueOfBits = new Float32Array(65_536);
for (let bits = 0; bits < 65_536; bits++) valueOfBits[bits] = computeValue(bits);

function computeValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The number that 16 bits stand for. */
export function float16Value(bits: number): number {
  return valueOfBits[bits & 0xffff] ?? NaN;
}

/** Writes the values of `bits[start…end)` to the front of `target`. */
export function float16ToFloat32(bits: Uint16Array, target: Float32Array, start = 0, end = bits.length): void {
  for (let index = start; index < end; index++) target[index - start] = valueOfBits[bits[index] ?? 0] ?? NaN;
}

/** The bits of a float16 tensor, whichever 16-bit view the runtime chose (Node 24 gives a Float16Array). */
export function float16Bits(tensor: GraphTensor): Uint16Array {
  const data = tensor.data;
  if (data instanceof Uint16Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2);
  throw new TypeError('A float16 tensor holds no view of memory.');
}
