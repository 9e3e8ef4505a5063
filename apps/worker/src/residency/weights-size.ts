import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { InstalledModel } from '../models-folder.js';

const known = new WeakMap<InstalledModel, Promise<number>>();

/**
 * Bytes of everything in a model's folder. An installed model never changes, and is looked at once; again only when
 * its folder could not be read, which rejects.
 */
export function weightsBytes(model: InstalledModel): Promise<number> {
  const before = known.get(model);
  if (before !== undefined) return before;
  const bytes = sizeOf(model.directory);
  known.set(model, bytes);
  bytes.catch(() => known.delete(model));
  return bytes;
}

async function sizeOf(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => !entry.isDirectory())
    // Weights may be links into a store that models share; one that leads nowhere is the loader's to complain about.
    .map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
