import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlatformError } from '#common';
import type { ModelManifest } from './manifest.js';
import { parseManifest } from './parse-manifest.js';

/**
 * Reads all manifests (`*.yaml`, `*.yml`) of a folder, ordered by id. Fails with `INVALID_MANIFEST` at the first bad
 * file and if two files have the same id. With `onBad`, such files are reported to it and skipped.
 */
export async function loadManifestFolder(
  folder: string,
  onBad: (problem: PlatformError) => void = fail,
): Promise<ModelManifest[]> {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).sort();
  const byId = new Map<string, ModelManifest>();
  for (const name of names) {
    const text = await readFile(join(folder, name), 'utf8');
    try {
      const manifest = parseManifest(text, name);
      if (byId.has(manifest.id)) {
        throw new PlatformError('INVALID_MANIFEST', `${name}: id "${manifest.id}" is used by another file.`, 'id');
      }
      byId.set(manifest.id, manifest);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      onBad(error);
    }
  }
  return [...byId.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
}

function fail(problem: PlatformError): never {
  throw problem;
}

/** Returns the `models/` folder of this checkout or package, found by searching upwards for `package.json`. */
export function bundledManifestFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) || !existsSync(join(folder, 'models'))) {
    const parent = dirname(folder);
    if (parent === folder)
      throw new PlatformError('INVALID_MANIFEST', 'The models folder of the installation is missing.');
    folder = parent;
  }
  return join(folder, 'models');
}
