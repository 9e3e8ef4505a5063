import { encodeFloat16Array } from '#common';
import { float16Bits, float16ToFloat32 } from './float16.js';
import type { GraphSession, GraphTensor } from './graph-session.js';

/** Creates a float tensor in the precision of the named input, single or half. */
export function floatTensor(
  session: GraphSession,
  { input, data, dims }: { input: string; data: Float32Array; dims: readonly number[] },
): GraphTensor {
  const type = session.inputs.find(({ name }) => name === input)?.type;
  if (type !== 'float16') return session.tensor('float32', data, dims);
  return session.tensor('float16', encodeFloat16Array(data), dims);
}

/** Creates an integer tensor in the type of the named input, because exports differ. */
export function integerTensor(
  session: GraphSession,
  { input, data, dims }: { input: string; data: readonly number[]; dims: readonly number[] },
): GraphTensor {
  const type = session.inputs.find(({ name }) => name === input)?.type;
  if (type === 'int64') return session.tensor('int64', BigInt64Array.from(data, BigInt), dims);
  if (type === 'int32') return session.tensor('int32', Int32Array.from(data), dims);
  return floatTensor(session, { input, data: Float32Array.from(data), dims });
}

/** Returns the values of a float tensor of either precision. */
export function floatsOf(tensor: GraphTensor | undefined): Float32Array {
  if (tensor?.data instanceof Float32Array) return tensor.data;
  if (tensor?.type !== 'float16') throw new TypeError('The graph did not return floats where expected.');
  const bits = float16Bits(tensor);
  const values = new Float32Array(bits.length);
  float16ToFloat32(bits, values);
  return values;
}
