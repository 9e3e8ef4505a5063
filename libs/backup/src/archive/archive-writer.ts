import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { Header } from 'tar';
import { PartDigests, type PartDigest } from './part-digests.js';

/** Size of a block of tar. */
export const blockBytes = 512;

/** Fast: what makes backups large, media, is compressed already. */
const compressionLevel = 1;

/**
 * Writes a compressed tar archive that only its owner can read. It has another name until it is complete and on disk.
 */
export class ArchiveWriter {
  private readonly digests = new PartDigests();
  private readonly gzip: Gzip;
  private readonly written: Promise<void>;
  private readonly partial: string;

  private constructor(private readonly path: string) {
    this.partial = partialOf(path);
    this.gzip = createGzip({ level: compressionLevel });
    this.written = pipeline(this.gzip, createWriteStream(this.partial, { mode: 0o600, flags: 'wx', flush: true }));
    // It may fail while nobody waits; the next write reports it.
    this.written.catch(() => undefined);
  }

  static async create(path: string): Promise<ArchiveWriter> {
    await rm(partialOf(path), { force: true });
    return new ArchiveWriter(path);
  }

  /** Adds a file of so many bytes. */
  async add(path: string, bytes: number, content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    this.digests.begin(path);
    let rest = bytes;
    await this.writeHeader(path, bytes);
    for await (const chunk of content) {
      rest -= chunk.length;
      if (rest < 0) break;
      this.digests.add(chunk);
      await this.write(chunk);
    }
    if (rest !== 0) throw new Error(`${path} does not have ${bytes} bytes.`);
    await this.pad(bytes);
  }

  /** Adds the last file, made of the digests of all others, and gives the archive its name. */
  async finish(name: string, describe: (parts: Record<string, PartDigest>) => Uint8Array): Promise<void> {
    const content = describe(this.digests.finish());
    await this.writeHeader(name, content.length);
    await this.write(content);
    await this.pad(content.length);
    await this.write(Buffer.alloc(2 * blockBytes));
    this.gzip.end();
    await this.written;
    await rename(this.partial, this.path);
  }

  /** Removes what was written so far. */
  async discard(): Promise<void> {
    this.gzip.destroy();
    await this.written.catch(() => undefined);
    await rm(this.partial, { force: true });
  }

  private async writeHeader(path: string, size: number): Promise<void> {
    const block = Buffer.alloc(blockBytes);
    const needsPax = new Header({ path, size, type: 'File', mode: 0o600, mtime: new Date() }).encode(block);
    if (needsPax) throw new Error(`${path} does not fit into the header of a file.`);
    await this.write(block);
  }

  private async pad(bytes: number): Promise<void> {
    const rest = bytes % blockBytes;
    if (rest > 0) await this.write(Buffer.alloc(blockBytes - rest));
  }

  private async write(chunk: Uint8Array): Promise<void> {
    try {
      if (this.gzip.destroyed) throw new Error('The archive cannot be written.');
      if (!this.gzip.write(chunk)) await once(this.gzip, 'drain');
    } catch (error) {
      // The file says why.
      await this.written;
      throw error;
    }
  }
}

function partialOf(path: string): string {
  return `${path}.partial`;
}
