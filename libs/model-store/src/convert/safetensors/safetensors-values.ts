import { decodeFloat16 } from '#common';
import type { ByteSource } from '../byte-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { SafetensorsEntry } from './safetensors-header.js';

const floatBytes: Record<string, number> = { F32: 4, F16: 2, BF16: 2 };

/**
 * Reads `count` values of a tensor of floats from the `first` on. Fails with `INVALID_MODEL` for other types, and for
 * values that are no numbers: a model with one would answer every prompt with noise.
 */
export async function readFloats(
  file: ByteSource,
  entry: SafetensorsEntry,
  first: number,
  count: number,
): Promise<Float32Array> {
  const size = Object.hasOwn(floatBytes, entry.dtype) ? floatBytes[entry.dtype] : undefined;
  if (size === undefined)
    throw invalidFile(file.name, `${quoted(entry.name)} is of type ${quoted(entry.dtype)}, which is not read`);
  if ((first + count) * size > entry.bytes) throw invalidFile(file.name, `${entry.name} is cut short`);
  const values = decode(entry.dtype, await file.read(entry.offset + first * size, count * size));
  requireNumbers(file, entry, first, values);
  return values;
}

/** Reads `count` bytes of a tensor from the `first` on. */
export async function readBytes(
  file: ByteSource,
  entry: SafetensorsEntry,
  first: number,
  count: number,
): Promise<Uint8Array> {
  if (first + count > entry.bytes) throw invalidFile(file.name, `${quoted(entry.name)} is cut short`);
  return await file.read(entry.offset + first, count);
}

/** Reads a whole tensor of 32-bit integers. */
export async function readIntegers(file: ByteSource, entry: SafetensorsEntry): Promise<Int32Array> {
  if (entry.dtype !== 'I32') throw invalidFile(file.name, `${entry.name} is of type ${entry.dtype}, not I32`);
  return new Int32Array((await file.read(entry.offset, entry.bytes)).buffer);
}

function decode(dtype: string, bytes: Uint8Array<ArrayBuffer>): Float32Array {
  if (dtype === 'F32') return new Float32Array(bytes.buffer);
  const halves = new Uint16Array(bytes.buffer);
  const values = new Float32Array(halves.length);
  if (dtype === 'F16') {
    for (let index = 0; index < halves.length; index++) values[index] = decodeFloat16(halves[index] as number);
    return values;
  }
  // A bfloat16 is the upper half of a float32.
  const words = new Uint32Array(values.buffer);
  for (let index = 0; index < halves.length; index++) words[index] = (halves[index] as number) << 16;
  return values;
}

function requireNumbers(
  file: ByteSource,
  { name, dtype, offset }: SafetensorsEntry,
  first: number,
  values: Float32Array,
): void {
  let sum = 0;
  // Numbers of float32 cannot overflow the sum, and infinity and NaN stay in it.
  for (let index = 0; index < values.length; index++) sum += values[index] as number;
  if (Number.isFinite(sum)) return;
  const index = first + values.findIndex((value) => !Number.isFinite(value));
  const byte = offset + index * (floatBytes[dtype] ?? 1);
  const value = `value ${index} of ${quoted(name)} at byte ${byte} is ${values[index - first]}, not a number`;
  throw invalidFile(file.name, value);
}
