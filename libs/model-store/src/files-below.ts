import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/**
 * Returns the paths of all files below a folder, relative to it, in order. A link to a file is a file; a link to a folder
 * is not followed.
 */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = await filesAmong(entries);
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')).sort();
}

/** Returns the entries that are files, or links to files. */
export async function filesAmong(entries: readonly Dirent[]): Promise<Dirent[]> {
  const isFile = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isSymbolicLink()) return entry.isFile();
      const target = await stat(join(entry.parentPath, entry.name)).catch(() => null);
      return target?.isFile() === true;
    }),
  );
  return entries.filter((_, index) => isFile[index]);
}
