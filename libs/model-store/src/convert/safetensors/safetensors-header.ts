import type { ByteSource } from '../byte-source.js';
import { invalidFile, jsonFault, quoted } from '../invalid-file.js';

/** A tensor of a `.safetensors` file. */
export interface SafetensorsEntry {
  name: string;
  dtype: string;
  /** Outermost first. */
  shape: readonly number[];
  /** Position in the file. */
  offset: number;
  bytes: number;
}

/** Bytes per value of the types that a file may hold. */
const bytesOf: Record<string, number> = {
  F64: 8,
  I64: 8,
  U64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
  I16: 2,
  U16: 2,
  F8_E4M3: 1,
  F8_E5M2: 1,
  F8_E8M0: 1,
  I8: 1,
  U8: 1,
  BOOL: 1,
};

/** Maximum header size; the tensor list of a very large model is some megabytes. */
const maxHeaderBytes = 16 * 1024 * 1024;
const lengthBytes = 8;

/**
 * Reads the list of tensors at the start of a file: its length, then JSON. Fails with `INVALID_MODEL` if the sizes, types
 * and positions of the tensors do not add up, before anything else of the file is read.
 */
export async function readSafetensorsHeader(file: ByteSource): Promise<ReadonlyMap<string, SafetensorsEntry>> {
  if (file.bytes < lengthBytes) throw invalidFile(file.name, 'it is too short for a list of tensors');
  const length = Number(new DataView((await file.read(0, lengthBytes)).buffer).getBigUint64(0, true));
  if (length > file.bytes - lengthBytes) throw invalidFile(file.name, 'its list of tensors is cut short');
  if (length > maxHeaderBytes) {
    throw invalidFile(file.name, `its list of tensors has ${length} bytes, and at most ${maxHeaderBytes} are read`);
  }
  const text = Buffer.from(await file.read(lengthBytes, length)).toString('utf8');
  const entries = new Map<string, SafetensorsEntry>();
  for (const [name, value] of Object.entries(parseList(file.name, text))) {
    if (name === '__metadata__') continue;
    entries.set(name, entryOf({ file, text }, name, value));
  }
  refuseOverlaps(file.name, [...entries.values()]);
  return entries;
}

function parseList(fileName: string, text: string): object {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw invalidFile(fileName, `its list of tensors cannot be read: ${jsonFault(error)}`);
  }
  if (typeof list !== 'object' || list === null) throw invalidFile(fileName, 'its list of tensors is no object');
  return list;
}

interface RawEntry {
  dtype: string;
  shape: number[];
  data_offsets: [from: number, to: number];
}

interface TensorList {
  file: ByteSource;
  text: string;
}

function entryOf({ file, text }: TensorList, name: string, value: unknown): SafetensorsEntry {
  const start = lengthBytes + Buffer.byteLength(text);
  const tensor = quoted(name);
  const refuse = (reason: string) => {
    const place = Buffer.byteLength(text.slice(0, Math.max(0, text.indexOf(JSON.stringify(name)))));
    return invalidFile(file.name, `${reason} (entry at byte ${lengthBytes + place})`);
  };
  if (!isRawEntry(value)) throw refuse(`the entry of ${tensor} in its list of tensors is damaged`);
  const { dtype, shape, data_offsets: offsets } = value;
  const [from, to] = offsets;
  if (from > to) throw refuse(`${tensor} ends before it begins`);
  if (start + to > file.bytes) throw refuse(`${tensor} is cut short: it ends at ${start + to} of ${file.bytes} bytes`);
  const valueBytes = Object.hasOwn(bytesOf, dtype) ? bytesOf[dtype] : undefined;
  const expected = shape.reduce((product, size) => product * size, valueBytes ?? 0);
  if (valueBytes !== undefined && expected !== to - from) {
    throw refuse(`${tensor} has ${to - from} bytes where [${shape.join(', ')}] of ${dtype} has ${expected}`);
  }
  return { name, dtype, shape, offset: start + from, bytes: to - from };
}

function isRawEntry(value: unknown): value is RawEntry {
  const { dtype, shape, data_offsets: offsets } = (value ?? {}) as Partial<RawEntry>;
  return typeof dtype === 'string' && areSizes(shape) && areSizes(offsets) && offsets.length === 2;
}

function areSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

/** Two tensors of one place are the sign of a damaged or a hostile list. */
function refuseOverlaps(fileName: string, entries: SafetensorsEntry[]): void {
  let before: SafetensorsEntry | null = null;
  for (const entry of entries.filter(({ bytes }) => bytes > 0).sort((left, right) => left.offset - right.offset)) {
    if (before !== null && entry.offset < before.offset + before.bytes) {
      throw invalidFile(
        fileName,
        `its tensors ${quoted(before.name)} and ${quoted(entry.name)} overlap at byte ${entry.offset}`,
      );
    }
    before = entry;
  }
}
