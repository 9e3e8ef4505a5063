import { open } from 'node:fs/promises';

/** Writes one file sequentially. Tests replace it to simulate a full disk. */
export interface FileWriter {
  write(chunk: Uint8Array): Promise<void>;
  /** Resolves when the bytes are on the disk, so that a rename after it never shows an empty file. */
  close(): Promise<void>;
}

/** `w` starts again, `a` appends. */
export type FileWriterFactory = (path: string, flags: 'w' | 'a') => Promise<FileWriter>;

export const openDiskWriter: FileWriterFactory = async (path, flags) => {
  const handle = await open(path, flags);
  return {
    async write(chunk) {
      for (let offset = 0; offset < chunk.length;) {
        offset += (await handle.write(chunk, offset)).bytesWritten;
      }
    },
    async close() {
      try {
        await handle.datasync();
      } finally {
        await handle.close();
      }
    },
  };
};
