import type { TensorData } from '../graph-session.js';

/** Returns the bytes of an element. Types without tensors here count as four. */
export function bytesPerElement(type: string): number {
  if (type === 'int64') return 8;
  if (type === 'float16') return 2;
  return type === 'int8' || type === 'uint8' || type === 'bool' ? 1 : 4;
}

/** Returns the values in the bytes. Throws for a type without tensors here. */
export function arrayOf(type: string, bytes: ArrayBuffer): TensorData {
  switch (type) {
    case 'float32':
      return new Float32Array(bytes);
    case 'float16':
      return new Uint16Array(bytes);
    case 'int64':
      return new BigInt64Array(bytes);
    case 'int32':
      return new Int32Array(bytes);
    case 'int8':
      return new Int8Array(bytes);
    case 'uint8':
    case 'bool':
      return new Uint8Array(bytes);
    default:
      throw new Error(`there are no tensors of ${type}`);
  }
}
