import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { ByteSource } from './byte-source.js';
import { invalidFile } from './invalid-file.js';

/** A downloaded file with random access. */
export class InputFile implements ByteSource {
  private constructor(
    readonly name: string,
    readonly bytes: number,
    private readonly handle: FileHandle,
  ) {}

  static async open(folder: string, name: string): Promise<InputFile> {
    let handle: FileHandle;
    try {
      handle = await open(join(folder, name), 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw invalidFile(name, 'it is missing');
      throw error;
    }
    return new InputFile(name, (await handle.stat()).size, handle);
  }

  /** Reads exactly `length` bytes from `position` on. Throws `INVALID_MODEL` if the file ends before. */
  async read(position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const buffer = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await this.handle.read(buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) throw invalidFile(this.name, `it ends at byte ${position + filled}, cut short`);
      filled += bytesRead;
    }
    return buffer;
  }

  /** Reads `count` little-endian floats from `position` on. */
  async floats(position: number, count: number): Promise<Float32Array> {
    return new Float32Array((await this.read(position, count * 4)).buffer);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}
