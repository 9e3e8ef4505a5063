import { decodeFloat16 } from '#common';
import type { ByteSource } from '../byte-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { SafetensorsEntry } from './safetensors-header.js';

const floatBytes: Record<string, number> = { F32: 4, F16: 2, BF16: 2, F8_E4M3: 1, F8_E8M0: 1 };

const magnitudes = [0, 0.5, 1, 1.5, 2, 3, 4, 6];
/** Values of a 4-bit float with two bits of exponent; the highest bit is the sign. */
export const float4Levels = Float32Array.from([...magnitudes, ...magnitudes.map((value) => -value)]);

/** Values of an 8-bit float with four bits of exponent, without infinities. */
const float8Values = Float32Array.from({ length: 256 }, (_, code) => {
  const [sign, exponent, fraction] = [code >> 7 ? -1 : 1, (code >> 3) & 15, code & 7];
  if (exponent === 15 && fraction === 7) return NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -9 : (8 + fraction) * 2 ** (exponent - 10));
});

/** Powers of two by their byte. */
const powersOfTwo = Float32Array.from({ length: 256 }, (_, code) => (code === 255 ? NaN : 2 ** (code - 127)));

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

/** Reads `count` signed bytes of a tensor from the `first` on. */
export async function readInt8(
  file: ByteSource,
  entry: SafetensorsEntry,
  first: number,
  count: number,
): Promise<Float32Array> {
  if (entry.dtype !== 'I8') throw invalidFile(file.name, `${entry.name} is of type ${entry.dtype}, not I8`);
  return Float32Array.from(new Int8Array((await readBytes(file, entry, first, count)).buffer));
}

/** Reads a whole tensor of 32-bit integers. */
export async function readIntegers(file: ByteSource, entry: SafetensorsEntry): Promise<Int32Array> {
  if (entry.dtype !== 'I32') throw invalidFile(file.name, `${entry.name} is of type ${entry.dtype}, not I32`);
  return new Int32Array((await file.read(entry.offset, entry.bytes)).buffer);
}

function decode(dtype: string, bytes: Uint8Array<ArrayBuffer>): Float32Array {
  if (dtype === 'F32') return new Float32Array(bytes.buffer);
  const table = { F8_E4M3: float8Values, F8_E8M0: powersOfTwo }[dtype];
  if (table) return Float32Array.from(bytes, (code) => table[code] as number);
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
