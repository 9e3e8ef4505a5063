import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadFamilyEngine, type TextGenerationEngine } from '#inference';
import { hostLoadOptions } from '#inference/host';
import { draftManifest, modelsFolder, pullModels, readInstalledModel, silentReporter } from '#model-store';

/*
 * Adds a model as `sluice models add` does: inspected, drafted, installed, and loaded with the graph that was written.
 */

const id = 'mutated';

export interface AddedFile {
  name: string;
  bytes: Buffer;
  /** Folder with the other files of the model; null: there are none. */
  beside: string | null;
}

export interface AddOptions {
  /** Folder for the source and the home. */
  folder: string;
  /** Folder of the installed base of an adapter. */
  baseFolder?: string;
}

/** Rejects with the error that an operator gets, and if a refused file leaves anything installed. */
export async function addModel(file: AddedFile, { folder, baseFolder }: AddOptions): Promise<void> {
  const [source, home] = [join(folder, 'source'), join(folder, 'home')];
  await Promise.all([mkdir(source), mkdir(modelsFolder(home), { recursive: true })]);
  if (file.beside !== null) await cp(file.beside, source, { recursive: true });
  await writeFile(join(source, file.name), file.bytes);
  if (baseFolder !== undefined) await cp(baseFolder, join(modelsFolder(home), 'base'), { recursive: true });
  try {
    await install(home, source);
  } catch (error) {
    const left = (await readdir(modelsFolder(home))).filter((name) => name !== 'base' && !name.startsWith('.'));
    if (left.length > 0) throw new Error(`${left.join(', ')} is left of a refused model`, { cause: error });
    throw error;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function install(home: string, source: string): Promise<void> {
  const findBase = () => installed(home, 'base');
  const { manifest } = await draftManifest(`file:${source}`, {}, { id, findBase });
  const [result] = await pullModels({ home, manifests: [manifest], reporter: silentReporter });
  if (result === undefined) throw new Error('nothing was pulled');
  if (result.status === 'failed') throw result.error;
  try {
    await load(home, manifest.adapterOf);
  } catch (error) {
    await rm(join(modelsFolder(home), id), { recursive: true });
    throw error;
  }
}

async function installed(home: string, name: string) {
  const found = await readInstalledModel(home, name);
  if (found === null) throw new Error(`${name} is not installed`);
  return found;
}

async function load(home: string, adapterOf: string | undefined): Promise<void> {
  const model = await installed(home, id);
  const own = { manifest: model.manifest, directory: model.folder };
  const base = adapterOf === undefined ? null : await installed(home, adapterOf);
  const loadable = base === null ? own : { manifest: base.manifest, directory: base.folder, adapters: [own] };
  const options = hostLoadOptions(loadable, { providers: ['cpu'], threads: 1, slots: 1 });
  const { engine, adapters } = await loadFamilyEngine(options, () => undefined);
  await (engine as TextGenerationEngine).close();
  const [refused] = adapters?.refused ?? [];
  if (refused !== undefined) throw new Error(`an adapter was installed that its base refuses: ${refused.reason}`);
}
