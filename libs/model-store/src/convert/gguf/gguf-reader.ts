import { productOf } from '#common/values';
import type { ByteSource } from '../byte-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import { ggufTypes, type GgufHeader, type GgufTensor, type GgufValue } from './gguf-types.js';

const magic = 'GGUF';
const firstReadBytes = 4 * 1024 * 1024;
const defaultAlignment = 32;

/* Limits of what a header may hold, far above those of real files, so that a lying one costs no memory. */

/** A vocabulary of 260,000 tokens with its merges takes some 15 MB. */
const maxHeaderBytes = 64 * 1024 * 1024;
const maxListItems = 4 * 1024 * 1024;
const maxListDepth = 4;
const maxNameBytes = 65_535;
const maxDimensions = 4;
const maxAlignment = 1024 * 1024;

/**
 * Reads the metadata and tensor locations of a GGUF file, version 2 or 3, and checks them against the file's length.
 */
export async function readGgufHeader(file: ByteSource): Promise<GgufHeader> {
  for (let length = firstReadBytes; ; length = Math.min(length * 4, maxHeaderBytes)) {
    const bytes = await file.read(0, Math.min(length, file.bytes));
    const header = parseHeader(file, bytes);
    if (header) return header;
    if (length >= file.bytes) throw invalidFile(file.name, `it is cut short: its header does not end within it`);
    if (length >= maxHeaderBytes) {
      throw invalidFile(file.name, `its header does not end within ${maxHeaderBytes} bytes, the most that is read`);
    }
  }
}

/** Returns null if the header continues beyond `bytes`. */
function parseHeader(file: ByteSource, bytes: Uint8Array): GgufHeader | null {
  try {
    const cursor = new Cursor(file.name, bytes);
    checkVersion(file, cursor);
    const tensorCount = cursor.count();
    const metadata = readMetadata(cursor, cursor.count());
    const infos = cursor.list(tensorCount, () => readTensorInfo(cursor));
    const step = readAlignment(cursor, metadata);
    const dataStart = Math.ceil(cursor.position / step) * step;
    const tensors = infos.map((info) => placeTensor(file, info, dataStart));
    checkOverlaps(file, tensors);
    return { metadata, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
  } catch (error) {
    if (error instanceof OutOfBytes) return null;
    throw error;
  }
}

function checkVersion(file: ByteSource, cursor: Cursor): void {
  if (cursor.text(magic.length) !== magic) throw invalidFile(file.name, 'it is no GGUF file');
  const version = cursor.uint32();
  if (version !== 2 && version !== 3) throw invalidFile(file.name, `it is GGUF version ${version}; 2 and 3 are read`);
}

function readMetadata(cursor: Cursor, count: number): Map<string, GgufValue> {
  const metadata = new Map<string, GgufValue>();
  for (let index = 0; index < count; index++) {
    const key = cursor.name();
    if (metadata.has(key)) throw cursor.failure(`its metadata names ${quoted(key)} twice`);
    metadata.set(key, cursor.value(cursor.uint32()));
  }
  return metadata;
}

function readAlignment(cursor: Cursor, metadata: Map<string, GgufValue>): number {
  const alignment = metadata.get('general.alignment') ?? defaultAlignment;
  const isValid = typeof alignment === 'number' && Number.isInteger(alignment) && alignment > 0;
  if (isValid && alignment <= maxAlignment) return alignment;
  throw cursor.failure(`its metadata \`general.alignment\` is unusable: ${String(alignment).slice(0, 80)}`);
}

interface TensorInfo {
  name: string;
  dimensions: number[];
  type: number;
  relativeOffset: number;
}

function readTensorInfo(cursor: Cursor): TensorInfo {
  const name = cursor.name();
  const dimensionCount = cursor.uint32();
  if (dimensionCount > maxDimensions)
    throw cursor.failure(`its tensor ${quoted(name)} has ${dimensionCount} dimensions`);
  const dimensions = Array.from({ length: dimensionCount }, () => cursor.count());
  return { name, dimensions, type: cursor.uint32(), relativeOffset: cursor.count() };
}

function placeTensor(file: ByteSource, info: TensorInfo, dataStart: number): GgufTensor {
  const { name, dimensions } = info;
  const fail = (reason: string) => invalidFile(file.name, reason);
  const type = ggufTypes.get(info.type);
  if (!type) {
    const known = [...ggufTypes.values()].map((entry) => entry.name).join(', ');
    throw fail(`its tensor ${quoted(name)} has the unknown type ${info.type}; known are ${known}`);
  }
  const columns = dimensions[0] ?? 1;
  if (columns % type.values !== 0) {
    throw fail(`${columns} columns of its tensor ${quoted(name)} do not fill blocks of ${type.name}`);
  }
  const values = productOf(dimensions);
  if (values < 1 || !Number.isSafeInteger(values)) {
    throw fail(`its tensor ${quoted(name)} is ${dimensions.join(' × ')}, which no file can hold`);
  }
  const bytes = (values / type.values) * type.bytes;
  const offset = dataStart + info.relativeOffset;
  if (offset + bytes > file.bytes) {
    throw fail(`it is cut short: its tensor ${quoted(name)} ends at byte ${offset + bytes} of ${file.bytes}`);
  }
  return { name, dimensions, type, offset, bytes };
}

function checkOverlaps(file: ByteSource, tensors: readonly GgufTensor[]): void {
  const names = new Set<string>();
  let before: GgufTensor | undefined;
  for (const tensor of [...tensors].sort((one, other) => one.offset - other.offset)) {
    if (names.has(tensor.name)) throw invalidFile(file.name, `it has two tensors ${quoted(tensor.name)}`);
    if (before && before.offset + before.bytes > tensor.offset) {
      const both = `${quoted(before.name)} and ${quoted(tensor.name)}`;
      throw invalidFile(file.name, `its tensors ${both} overlap at byte ${tensor.offset}`);
    }
    names.add(tensor.name);
    before = tensor;
  }
}

/** Thrown when the bytes read so far end before the header does. */
class OutOfBytes extends Error {}

/** Reads little-endian values sequentially. */
class Cursor {
  position = 0;
  private readonly buffer: Buffer;

  constructor(
    private readonly fileName: string,
    bytes: Uint8Array,
  ) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  uint32(): number {
    return this.buffer.readUInt32LE(this.take(4));
  }

  /** Reads an unsigned 64-bit count or offset. */
  count(): number {
    const value = this.buffer.readBigUInt64LE(this.take(8));
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw this.failure(`it counts ${value} of something`);
    return Number(value);
  }

  string(): string {
    return this.text(this.count());
  }

  /** Reads the name of an entry or a tensor. */
  name(): string {
    const length = this.count();
    if (length > maxNameBytes) throw this.failure(`it has a name of ${length} bytes`);
    return this.text(length);
  }

  /** Returns an error with the position in the file. */
  failure(reason: string): Error {
    return invalidFile(this.fileName, `${reason} (before byte ${this.position})`);
  }

  text(length: number): string {
    const start = this.take(length);
    return this.buffer.toString('utf8', start, start + length);
  }

  /** Reads a metadata value of the given type number. */
  value(type: number, depth = 0): GgufValue {
    switch (type) {
      case 0:
        return this.buffer.readUInt8(this.take(1));
      case 1:
        return this.buffer.readInt8(this.take(1));
      case 2:
        return this.buffer.readUInt16LE(this.take(2));
      case 3:
        return this.buffer.readInt16LE(this.take(2));
      case 4:
        return this.uint32();
      case 5:
        return this.buffer.readInt32LE(this.take(4));
      case 6:
        return this.buffer.readFloatLE(this.take(4));
      case 7:
        return this.buffer.readUInt8(this.take(1)) !== 0;
      case 8:
        return this.string();
      case 9:
        return this.values(this.uint32(), depth + 1);
      case 10:
        return this.buffer.readBigUInt64LE(this.take(8));
      case 11:
        return this.buffer.readBigInt64LE(this.take(8));
      case 12:
        return this.buffer.readDoubleLE(this.take(8));
      default:
        throw this.failure(`its metadata holds the unknown type ${type}`);
    }
  }

  /** Reads `count` items of at least a byte each; fails immediately if the count exceeds the remaining bytes. */
  list<Item>(count: number, read: () => Item): Item[] {
    if (count > this.buffer.length - this.position) throw new OutOfBytes();
    return Array.from({ length: count }, read);
  }

  private values(type: number, depth: number): GgufValue[] {
    const count = this.count();
    if (depth > maxListDepth) throw this.failure(`its metadata nests lists deeper than ${maxListDepth}`);
    if (count > maxListItems) throw this.failure(`its metadata has a list of ${count} items`);
    return this.list(count, () => this.value(type, depth));
  }

  private take(length: number): number {
    const start = this.position;
    if (length > this.buffer.length - start) throw new OutOfBytes();
    this.position = start + length;
    return start;
  }
}
