import { readFile } from 'node:fs/promises';

/** Recognizes the error of a file or folder that does not exist. */
export function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Returns the bytes of a file; null where there is none. */
export async function readIfPresent(path: string): Promise<Buffer | null> {
  return await readFile(path).catch((error: unknown) => {
    if (isMissingFile(error)) return null;
    throw error;
  });
}
