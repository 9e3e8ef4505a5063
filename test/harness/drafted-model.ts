import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ModelManifest } from '#model-registry/manifest';
import { convertModel, type DraftOptions, draftManifest } from '#model-store';
import { installFixture } from './install-fixture.js';

const families = new URL('../../libs/inference/src/families/', import.meta.url);

/** Tiny embedding models and rerankers made of decoders (`tools/reference/pooling_models.py`). */
export const embeddingFixtures = new URL('text-embedding/__fixtures__/', families);
export const rerankerFixtures = new URL('cross-encoder/__fixtures__/', families);

/** Files of fixtures that their authors would not publish. */
const ownFiles = ['reference.json'];

/**
 * Drafts a manifest for a fixture, a folder or a GGUF file, as `models add` does, and converts it below `home`. Returns
 * the manifest and the folder of the model.
 */
export async function convertDrafted(
  fixture: URL,
  home: string,
  options: DraftOptions = {},
): Promise<{ manifest: ModelManifest; directory: string; converter: string }> {
  const path = fileURLToPath(fixture);
  const name = basename(path);
  const inputFolder = join(home, `${name}-input`);
  const directory = join(home, `${name}-model`);
  for (const folder of [inputFolder, directory]) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
  }
  const isFile = name.endsWith('.gguf');
  await cp(path, isFile ? join(inputFolder, name) : inputFolder, { recursive: true });
  for (const own of ownFiles) await rm(join(inputFolder, own), { force: true });
  const { manifest } = await draftManifest(`file:${isFile ? join(inputFolder, name) : inputFolder}`, {}, options);
  const { kind, options: converterOptions = {} } = manifest.converter;
  if (kind === 'none') throw new Error(`${name} needs no conversion.`);
  const { converter } = await convertModel({ kind, options: converterOptions, inputFolder, outputFolder: directory });
  return { manifest, directory, converter };
}

/** Installs such a model at `<home>/models/<id>`, with members of its manifest replaced. */
export async function installDrafted(
  home: string,
  fixture: URL,
  changes: Partial<ModelManifest> & { id: string },
): Promise<ModelManifest> {
  const { manifest, directory, converter } = await convertDrafted(fixture, home);
  const changed = { ...manifest, ...changes };
  return await installFixture(home, { id: changes.id, converter }, async (folder) => {
    await cp(directory, folder, { recursive: true });
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(changed));
    return changed;
  });
}
