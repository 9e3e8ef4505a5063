import type { InputFile } from '../input-file.js';
import { invalidFile } from '../invalid-file.js';
import { ggufTypes, type GgufHeader, type GgufTensor, type GgufValue } from './gguf-types.js';

const magic = 'GGUF';
const firstReadBytes = 4 * 1024 * 1024;
const defaultAlignment = 32;

/**
 * Reads the metadata and tensor locations of a GGUF file, version 2 or 3, and checks them against the file's length.
 */
export async function readGgufHeader(file: InputFile): Promise<GgufHeader> {
  for (let length = firstReadBytes; ; length *= 4) {
    const bytes = await file.read(0, Math.min(length, file.bytes));
    const header = parseHeader(file, bytes);
    if (header) return header;
    if (length >= file.bytes) throw invalidFile(file.name, `it is cut short: its header does not end within it`);
  }
}

/** Returns null if the header continues beyond `bytes`. */
function parseHeader(file: InputFile, bytes: Uint8Array): GgufHeader | null {
  try {
    const cursor = new Cursor(file.name, bytes);
    checkVersion(file, cursor);
    const tensorCount = cursor.count();
    const metadata = readMetadata(cursor, cursor.count());
    const infos = cursor.list(tensorCount, () => readTensorInfo(cursor));
    const alignment = metadata.get('general.alignment');
    const step = typeof alignment === 'number' && alignment > 0 ? alignment : defaultAlignment;
    const dataStart = Math.ceil(cursor.position / step) * step;
    const tensors = infos.map((info) => placeTensor(file, info, dataStart));
    return { metadata, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
  } catch (error) {
    if (error instanceof OutOfBytes) return null;
    throw error;
  }
}

function checkVersion(file: InputFile, cursor: Cursor): void {
  if (cursor.text(magic.length) !== magic) throw invalidFile(file.name, 'it is no GGUF file');
  const version = cursor.uint32();
  if (version !== 2 && version !== 3) throw invalidFile(file.name, `it is GGUF version ${version}; 2 and 3 are read`);
}

function readMetadata(cursor: Cursor, count: number): Map<string, GgufValue> {
  const metadata = new Map<string, GgufValue>();
  for (let index = 0; index < count; index++) {
    const key = cursor.string();
    metadata.set(key, cursor.value(cursor.uint32()));
  }
  return metadata;
}

interface TensorInfo {
  name: string;
  dimensions: number[];
  type: number;
  relativeOffset: number;
}

function readTensorInfo(cursor: Cursor): TensorInfo {
  const name = cursor.string();
  const dimensionCount = cursor.uint32();
  const dimensions = Array.from({ length: Math.min(dimensionCount, 8) }, () => cursor.count());
  return { name, dimensions, type: cursor.uint32(), relativeOffset: cursor.count() };
}

function placeTensor(file: InputFile, info: TensorInfo, dataStart: number): GgufTensor {
  const { name, dimensions } = info;
  const type = ggufTypes.get(info.type);
  if (!type) {
    const known = [...ggufTypes.values()].map((entry) => entry.name).join(', ');
    throw invalidFile(file.name, `its tensor ${name} has the unknown type ${info.type}; known are ${known}`);
  }
  const columns = dimensions[0] ?? 1;
  if (columns % type.values !== 0) {
    throw invalidFile(file.name, `${columns} columns of its tensor ${name} do not fill blocks of ${type.name}`);
  }
  const values = dimensions.reduce((product, size) => product * size, 1);
  const bytes = (values / type.values) * type.bytes;
  const offset = dataStart + info.relativeOffset;
  if (offset + bytes > file.bytes) {
    throw invalidFile(file.name, `it is cut short: its tensor ${name} ends at byte ${offset + bytes} of ${file.bytes}`);
  }
  return { name, dimensions, type, offset, bytes };
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
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalidFile(this.fileName, `it counts ${value} of something`);
    return Number(value);
  }

  string(): string {
    return this.text(this.count());
  }

  text(length: number): string {
    const start = this.take(length);
    return this.buffer.toString('utf8', start, start + length);
  }

  /** Reads a metadata value of the given type number. */
  value(type: number): GgufValue {
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
        return this.values(this.uint32());
      case 10:
        return this.buffer.readBigUInt64LE(this.take(8));
      case 11:
        return this.buffer.readBigInt64LE(this.take(8));
      case 12:
        return this.buffer.readDoubleLE(this.take(8));
      default:
        throw invalidFile(this.fileName, `its metadata holds the unknown type ${type}`);
    }
  }

  /** Reads `count` items of at least a byte each; fails immediately if the count exceeds the remaining bytes. */
  list<Item>(count: number, read: () => Item): Item[] {
    if (count > this.buffer.length - this.position) throw new OutOfBytes();
    return Array.from({ length: count }, read);
  }

  private values(type: number): GgufValue[] {
    return this.list(this.count(), () => this.value(type));
  }

  private take(length: number): number {
    const start = this.position;
    if (length > this.buffer.length - start) throw new OutOfBytes();
    this.position = start + length;
    return start;
  }
}
