import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundledManifestFolder } from '#model-registry/manifest';
import type { CharacterDefinition } from '../character.js';
import { fileFault, parseCharacterFile } from './character-file.js';

/** The characters of the product, beside its manifests. */
export function bundledCharacterFolder(): string {
  return join(bundledManifestFolder(), 'characters');
}

/** Reads all files of a folder (`*.yaml`, `*.yml`), by name. Throws `INVALID_REQUEST` at the first bad one. */
export async function loadCharacterFolder(folder: string): Promise<CharacterDefinition[]> {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).toSorted();
  const bySlug = new Map<string, CharacterDefinition>();
  for (const name of names) {
    const character = parseCharacterFile(await readFile(join(folder, name), 'utf8'), name);
    if (bySlug.has(character.slug)) throw fileFault(name, `the slug ${character.slug} is another file's`, 'slug');
    bySlug.set(character.slug, character);
  }
  return [...bySlug.values()];
}
