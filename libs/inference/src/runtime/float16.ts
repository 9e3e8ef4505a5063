import { decodeFloat16 } from '#common';
import type { GraphTensor } from './graph-session.js';

/*
 * Tensors of IEEE half precision. Node 20 has no Float16Array, so half floats travel as bits in a Uint16Array.
 */

/** Writes the values of `bits[start…end)` to the front of `target`. */
export function float16ToFloat32(bits: Uint16Array, target: Float32Array, start = 0, end = bits.length): void {
  for (let index = start; index < end; index++) target[index - start] = decodeFloat16(bits[index] as number);
}

/** The bits of a float16 tensor, whichever 16-bit view the runtime chose (Node 24 gives a Float16Array). */
export function float16Bits(tensor: GraphTensor): Uint16Array {
  const data = tensor.data;
  if (data instanceof Uint16Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2);
  throw new TypeError('A float16 tensor holds no view of memory.');
}
