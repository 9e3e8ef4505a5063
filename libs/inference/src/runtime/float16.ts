import { decodeFloat16 } from '#common';
import type { GraphTensor } from './graph-session.js';

/* IEEE half-precision tensors. Node 20 has no Float16Array, so half floats are passed as bits in a Uint16Array. */

/** Writes the values of `bits[start…end)` to the start of `target`. */
export function float16ToFloat32(bits: Uint16Array, target: Float32Array, start = 0, end = bits.length): void {
  for (let index = start; index < end; index++) target[index - start] = decodeFloat16(bits[index] as number);
}

/** Returns the bits of a float16 tensor from any 16-bit view of the runtime (Node 24 uses a Float16Array). */
export function float16Bits(tensor: GraphTensor): Uint16Array {
  const data = tensor.data;
  if (data instanceof Uint16Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2);
  throw new TypeError('A float16 tensor is not backed by memory.');
}
