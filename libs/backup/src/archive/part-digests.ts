import { createHash, type Hash } from 'node:crypto';
import { dirname } from 'node:path/posix';

/** The digest of one folder of an archive. */
export interface PartDigest {
  files: number;
  bytes: number;
  /** Hex, over the name and the content of each file in order. */
  sha256: string;
}

interface OpenDigest {
  files: number;
  bytes: number;
  hash: Hash;
}

/** Digests of the folders of an archive, computed while their files are written or read. */
export class PartDigests {
  private readonly parts = new Map<string, OpenDigest>();
  private current: OpenDigest | null = null;

  /** Begins a file, whose content follows. */
  begin(path: string): void {
    const name = dirname(path);
    const part = this.parts.get(name) ?? { files: 0, bytes: 0, hash: createHash('sha256') };
    this.parts.set(name, part);
    part.files += 1;
    part.hash.update(`${path}\n`);
    this.current = part;
  }

  add(chunk: Uint8Array): void {
    if (this.current === null) throw new Error('No file was begun.');
    this.current.bytes += chunk.length;
    this.current.hash.update(chunk);
  }

  /** Returns the digests by folder. Nothing can be added afterwards. */
  finish(): Record<string, PartDigest> {
    const finished = [...this.parts].map(([name, { files, bytes, hash }]) => {
      return [name, { files, bytes, sha256: hash.digest('hex') }] as const;
    });
    return Object.fromEntries(finished);
  }
}
