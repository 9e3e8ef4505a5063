import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Header } from 'tar';
import { errorText } from '#common/values';
import { refuseFile } from '../refusal.js';
import { blockBytes } from './archive-writer.js';

export interface ArchivedFile {
  path: string;
  bytes: number;
  /** To be read once, before the next file. Whoever does not read it skips it. */
  content: AsyncIterable<Buffer>;
}

/** Yields the files of an archive in order. Throws a refusal for one that is damaged or cut off. */
export async function* readArchive(file: string, signal?: AbortSignal): AsyncGenerator<ArchivedFile> {
  const gunzip = createGunzip();
  const input = createReadStream(file);
  pipeline(input, gunzip, () => undefined);
  const bytes = new ByteReader(file, gunzip);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const header = new Header(await bytes.take(blockBytes));
      if (header.nullBlock) return await bytes.skipRest();
      if (!header.cksumValid || header.path === undefined || header.size === undefined) {
        throw refuseFile(file, 'is damaged');
      }
      const content = bytes.chunks(header.size);
      yield { path: header.path, bytes: header.size, content };
      for await (const chunk of content) void chunk;
      await bytes.take((blockBytes - (header.size % blockBytes)) % blockBytes);
    }
  } finally {
    input.destroy();
    gunzip.destroy();
  }
}

/** Reads the byte stream of a file by numbers of bytes. */
class ByteReader {
  private readonly source: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(
    private readonly file: string,
    stream: AsyncIterable<Buffer>,
  ) {
    this.source = stream[Symbol.asyncIterator]();
  }

  async take(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.chunks(bytes)) parts.push(part);
    return Buffer.concat(parts);
  }

  async *chunks(bytes: number): AsyncGenerator<Buffer> {
    for (let missing = bytes; missing > 0;) {
      if (this.rest.length === 0) {
        const next = await this.next();
        if (next === null) throw refuseFile(this.file, 'is cut off');
        this.rest = next;
      }
      const part = this.rest.subarray(0, missing);
      this.rest = this.rest.subarray(part.length);
      missing -= part.length;
      yield part;
    }
  }

  /** Reads on to the end, where the checksum of the compression is. */
  async skipRest(): Promise<void> {
    while ((await this.next()) !== null);
  }

  private async next(): Promise<Buffer | null> {
    try {
      const next = await this.source.next();
      return next.done === true ? null : next.value;
    } catch (error) {
      throw unreadable(this.file, error as NodeJS.ErrnoException);
    }
  }
}

function unreadable(file: string, error: NodeJS.ErrnoException): Error {
  if (error.code === 'ENOENT') return refuseFile(file, 'does not exist');
  if (error.code === 'Z_BUF_ERROR') return refuseFile(file, 'is cut off');
  if (error.code?.startsWith('Z_') === true) return refuseFile(file, 'is damaged, or no backup');
  return refuseFile(file, `cannot be read (${errorText(error)})`);
}
