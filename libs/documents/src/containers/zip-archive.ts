import { crc32, inflateRawSync } from 'node:zlib';
import { corrupt, DocumentFault, encrypted } from '../document-fault.js';
import type { DocumentLimits } from '../document-limits.js';

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
const end64Signature = 0x06064b50;
const locator64Signature = 0x07064b50;
const endLength = 22;
const entryLength = 46;
const localLength = 30;
const maxCommentLength = 0xffff;
const stored = 0;
const deflated = 8;

interface Entry {
  flags: number;
  method: number;
  crc: number;
  packedBytes: number;
  bytes: number;
  offset: number;
}

/**
 * Reads the ZIP archives of office documents and books (APPNOTE 6.3.10): stored and deflated files, with the extension
 * for large sizes. Sizes that an archive states are never trusted: a file is unpacked up to its limit.
 */
export class ZipArchive {
  private readonly entries = new Map<string, Entry>();
  private unpackedBytes = 0;

  /** Throws `DocumentFault` if the directory is not valid or has too many files. */
  constructor(
    private readonly bytes: Buffer,
    private readonly limits: DocumentLimits,
  ) {
    try {
      this.readDirectory();
    } catch (error) {
      throw error instanceof RangeError ? corrupt('archive') : error;
    }
  }

  get names(): string[] {
    return [...this.entries.keys()];
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  /** Returns an unpacked file, or null if there is none. Throws `DocumentFault`. */
  read(name: string): Buffer | null {
    const entry = this.entries.get(name);
    if (entry === undefined) return null;
    try {
      const content = this.unpack(entry);
      if (crc32(content) !== entry.crc) throw corrupt('archive');
      this.unpackedBytes += content.length;
      return content;
    } catch (error) {
      if (error instanceof DocumentFault) throw error;
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
      throw corrupt('archive');
    }
  }

  private unpack(entry: Entry): Buffer {
    if ((entry.flags & 1) !== 0) throw encrypted();
    if (this.bytes.readUInt32LE(entry.offset) !== localSignature) throw corrupt('archive');
    const start =
      entry.offset +
      localLength +
      this.bytes.readUInt16LE(entry.offset + 26) +
      this.bytes.readUInt16LE(entry.offset + 28);
    if (start + entry.packedBytes > this.bytes.length) throw corrupt('archive');
    const packed = this.bytes.subarray(start, start + entry.packedBytes);
    const room = Math.min(this.limits.maxEntryBytes, this.limits.maxUnpackedBytes - this.unpackedBytes);
    if (entry.method === stored && packed.length <= room) return packed;
    if (entry.method === stored || room <= 0) throw tooLarge();
    if (entry.method !== deflated) throw new DocumentFault('uses an unknown compression');
    return inflateRawSync(packed, { maxOutputLength: room });
  }

  private readDirectory(): void {
    const { count, offset } = this.findDirectory();
    if (count > this.limits.maxEntries) throw new DocumentFault(`holds more than ${this.limits.maxEntries} files`);
    let position = offset;
    for (let index = 0; index < count; index += 1) {
      if (this.bytes.readUInt32LE(position) !== entrySignature) throw corrupt('archive');
      const nameLength = this.bytes.readUInt16LE(position + 28);
      const extraLength = this.bytes.readUInt16LE(position + 30);
      const commentLength = this.bytes.readUInt16LE(position + 32);
      const nameEnd = position + entryLength + nameLength;
      const name = this.bytes.toString('utf8', position + entryLength, nameEnd).replaceAll('\\', '/');
      this.entries.set(name, this.readEntry(position, this.bytes.subarray(nameEnd, nameEnd + extraLength)));
      position = nameEnd + extraLength + commentLength;
    }
  }

  private readEntry(position: number, extra: Buffer): Entry {
    const { bytes } = this;
    const entry: Entry = {
      flags: bytes.readUInt16LE(position + 8),
      method: bytes.readUInt16LE(position + 10),
      crc: bytes.readUInt32LE(position + 16),
      packedBytes: bytes.readUInt32LE(position + 20),
      bytes: bytes.readUInt32LE(position + 24),
      offset: bytes.readUInt32LE(position + 42),
    };
    applyLargeSizes(entry, extra);
    return entry;
  }

  private findDirectory(): { count: number; offset: number } {
    const { bytes } = this;
    const last = bytes.length - endLength;
    for (let position = last; position >= Math.max(0, last - maxCommentLength); position -= 1) {
      if (bytes.readUInt32LE(position) !== endSignature) continue;
      const count = bytes.readUInt16LE(position + 10);
      const offset = bytes.readUInt32LE(position + 16);
      return count === 0xffff || offset === 0xffffffff ? this.findLargeDirectory(position) : { count, offset };
    }
    throw corrupt('archive');
  }

  private findLargeDirectory(end: number): { count: number; offset: number } {
    const { bytes } = this;
    const locator = end - 20;
    if (bytes.readUInt32LE(locator) !== locator64Signature) throw corrupt('archive');
    const position = safeNumber(bytes.readBigUInt64LE(locator + 8));
    if (bytes.readUInt32LE(position) !== end64Signature) throw corrupt('archive');
    return {
      count: safeNumber(bytes.readBigUInt64LE(position + 32)),
      offset: safeNumber(bytes.readBigUInt64LE(position + 48)),
    };
  }
}

/** Replaces the members that overflowed by the values of the extra field 1, which holds only those, in this order. */
function applyLargeSizes(entry: Entry, extra: Buffer): void {
  for (let position = 0; position + 4 <= extra.length;) {
    const length = extra.readUInt16LE(position + 2);
    if (extra.readUInt16LE(position) === 1) {
      let from = position + 4;
      for (const member of ['bytes', 'packedBytes', 'offset'] as const) {
        if (entry[member] !== 0xffffffff) continue;
        entry[member] = safeNumber(extra.readBigUInt64LE(from));
        from += 8;
      }
    }
    position += 4 + length;
  }
}

function safeNumber(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw corrupt('archive');
  return Number(value);
}

function tooLarge(): DocumentFault {
  return new DocumentFault('unpacks to too many bytes');
}
