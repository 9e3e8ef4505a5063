import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fingerprintManifest, type ModelManifest, readStoredManifest } from '#model-registry/manifest';
import { isCurrentConversion } from './convert/converter-versions.js';
import { type InstalledRecord, modelFolder, modelsFolder } from './layout.js';

/** A complete model on this disk. */
export interface InstalledModel {
  manifest: ModelManifest;
  record: InstalledRecord;
  folder: string;
}

/** Returns all complete models under `<home>/models`, by id. Incomplete and unreadable ones are left out. */
export async function listInstalledModels(home: string): Promise<InstalledModel[]> {
  if (!existsSync(modelsFolder(home))) return [];
  const names = (await readdir(modelsFolder(home))).filter((name) => !name.startsWith('.')).sort();
  const models = await Promise.all(names.map((name) => readInstalledModel(home, name)));
  return models.filter((model) => model !== null);
}

/** Returns null if the model does not exist or its records cannot be read. */
export async function readInstalledModel(home: string, modelId: string): Promise<InstalledModel | null> {
  const folder = modelFolder(home, modelId);
  try {
    const record = JSON.parse(await readFile(join(folder, 'installed.json'), 'utf8')) as InstalledRecord;
    const value: unknown = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
    return { manifest: readStoredManifest(value, `${modelId}/manifest.json`), record, folder };
  } catch {
    // No model, or one written by an older version, which a pull reinstalls.
    return null;
  }
}

/** Returns true if this release installed the model from these sources and no file has changed its size since. */
export async function isIntact(installed: InstalledModel, manifest: ModelManifest): Promise<boolean> {
  const { record, folder } = installed;
  // The stored manifest is compared, since earlier releases computed the recorded fingerprint differently.
  if (fingerprintManifest(installed.manifest) !== fingerprintManifest(manifest)) return false;
  if (!isCurrentConversion(manifest.converter.kind, record.converter)) return false;
  for (const file of record.files) {
    const path = join(folder, file.path);
    if (!existsSync(path) || (await stat(path)).size !== file.bytes) return false;
  }
  return true;
}
