import { realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { pullError } from './pull-error.js';

/**
 * Refuses a model's folder of which a file is a link that leads out of it. Such a folder could come from anybody, and a
 * link to a secret of this machine would be installed as a part of the model: a chat template, for example, that callers
 * then read. The cache of a hub keeps the bytes of `snapshots/<commit>/…` in `blobs/` beside it, which is allowed.
 * `files` are relative to the folder; missing ones are left to whoever reads them.
 */
export async function refuseLinksOutOf(folder: string, files: readonly string[]): Promise<void> {
  const root = await realpath(folder);
  const allowed = [root, ...blobsBeside(root)];
  for (const file of files) {
    const target = await realpath(join(folder, file)).catch(() => null);
    if (target === null || allowed.some((place) => target.startsWith(`${place}${sep}`))) continue;
    throw pullError(`${file} is a link that leads out of ${folder}. Copy the file there if it belongs to the model.`);
  }
}

/** The `blobs` of a hub's cache, for a folder `snapshots/<commit>` or one below it. */
function blobsBeside(folder: string): string[] {
  for (let inner = folder; dirname(inner) !== inner; inner = dirname(inner)) {
    const parent = dirname(inner);
    if (basename(parent) === 'snapshots') return [join(dirname(parent), 'blobs')];
  }
  return [];
}
