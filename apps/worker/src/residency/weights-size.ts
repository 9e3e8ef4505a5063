import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { InstalledModel } from '../models-folder.js';

const known = new WeakMap<InstalledModel, Promise<number>>();

/**
 * Size of the folders of a model and its adapters in bytes. Cached, because an installed model never changes. Rejects if the folder cannot be
 * read, and reads it again next time.
 */
export function weightsBytes(model: InstalledModel): Promise<number> {
  const before = known.get(model);
  if (before !== undefined) return before;
  const folders = [model, ...(model.adapters ?? [])].map(({ directory }) => sizeOf(directory));
  const bytes = Promise.all(folders).then((sizes) => sizes.reduce((sum, size) => sum + size, 0));
  known.set(model, bytes);
  bytes.catch(() => known.delete(model));
  return bytes;
}

async function sizeOf(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => !entry.isDirectory())
    // Weights may be symbolic links into a shared store; a broken one is reported by the loader.
    .map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
