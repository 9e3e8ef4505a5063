import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '#common/values';
import { isMissingFile } from '#platform/files';
import { modelFolder, modelsFolder } from '#model-store';
import { type ModelManifest, readStoredManifest } from '#model-registry/manifest';

/** A model whose folder is complete. */
export interface InstalledModel {
  manifest: ModelManifest;
  directory: string;
  /** Changes when the model is reinstalled, or with its adapters. */
  version: string;
  /** Adapters that its host serves too. */
  adapters?: readonly InstalledModel[];
}

/** An entry of the models folder that is not a usable model, with the reason. */
export interface BrokenModel {
  id: string;
  reason: string;
}

export interface Installation {
  models: InstalledModel[];
  broken: BrokenModel[];
}

/**
 * Scans `<home>/models` repeatedly. Pulls rename a finished folder into place, so a folder with a `manifest.json` is
 * complete; folders with a leading dot are unfinished pulls. A manifest is parsed once per version.
 */
export class InstalledModels {
  private readonly known = new Map<string, InstalledModel>();

  constructor(private readonly home: string) {}

  async scan(): Promise<Installation> {
    const ids = await this.folders();
    const installation: Installation = { models: [], broken: [] };
    for (const id of ids) {
      try {
        installation.models.push(await this.read(id));
      } catch (error) {
        installation.broken.push({ id, reason: errorText(error) });
      }
    }
    for (const id of this.known.keys()) if (!ids.includes(id)) this.known.delete(id);
    return installation;
  }

  private async folders(): Promise<string[]> {
    try {
      const entries = await readdir(modelsFolder(this.home), { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map((entry) => entry.name);
    } catch (error) {
      // The folder does not exist before the first pull.
      if (isMissingFile(error)) return [];
      throw error;
    }
  }

  private async read(id: string): Promise<InstalledModel> {
    const directory = modelFolder(this.home, id);
    const path = join(directory, 'manifest.json');
    const { mtimeMs, ino } = await stat(path);
    const version = `${ino}/${mtimeMs}`;
    const known = this.known.get(id);
    if (known?.version === version) return known;
    const manifest = readStoredManifest(JSON.parse(await readFile(path, 'utf8')), 'manifest.json');
    if (manifest.id !== id) throw new Error(`its manifest is that of ${manifest.id}`);
    const model = { manifest, directory, version };
    this.known.set(id, model);
    return model;
  }
}

/** True when `SLUICE_MODELS` includes this model: by id, by set name, or through `all`. */
export function isSelected({ id, sets }: ModelManifest, names: readonly string[]): boolean {
  return names.some((name) => name === 'all' || name === id || (sets ?? []).includes(name));
}
