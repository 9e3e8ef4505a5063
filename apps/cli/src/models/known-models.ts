import { PlatformError } from '#common';
import { bundledManifestFolder, loadManifestFolder, type ModelManifest } from '#model-registry/manifest';
import { type InstalledModel, listInstalledModels } from '#model-store';
import type { CliContext } from '../cli-context.js';

/** A model as known to this machine from up to three sources. */
export interface KnownModel {
  manifest: ModelManifest;
  bundled: boolean;
  /** Null when no database is configured. */
  registered: boolean | null;
  disabled: boolean;
  installed: InstalledModel | null;
}

/**
 * Returns every model of the registry, the bundled manifests and the disk, by id. The registry's manifest takes
 * precedence.
 */
export async function findKnownModels(context: CliContext): Promise<KnownModel[]> {
  const registry = await context.registry();
  // An invalid operator file must not hide the other models.
  const files = await loadManifestFolder(bundledManifestFolder(), ({ message }) =>
    context.warn(`models/${message} It is left out.`),
  );
  const bundled = new Map(files.map((file) => [file.id, file]));
  const installed = new Map(
    (await listInstalledModels(context.config.home)).map((model) => [model.manifest.id, model]),
  );
  const rows = new Map((await registry?.inventory())?.map((row) => [row.manifest.id, row]));
  const ids = [...new Set([...rows.keys(), ...bundled.keys(), ...installed.keys()])].sort();
  return ids.flatMap((id) => {
    const manifest = rows.get(id)?.manifest ?? bundled.get(id) ?? installed.get(id)?.manifest;
    if (!manifest) return [];
    return {
      manifest,
      bundled: bundled.has(id),
      registered: registry ? rows.has(id) : null,
      disabled: rows.get(id)?.disabled ?? false,
      installed: installed.get(id) ?? null,
    };
  });
}

/** Rejects with `MODEL_NOT_FOUND`, listing the known models. */
export async function findKnownModel(context: CliContext, id: string): Promise<KnownModel> {
  const known = await findKnownModels(context);
  const found = known.find(({ manifest }) => manifest.id === id || manifest.aliases?.includes(id));
  if (found) return found;
  const ids = known.map(({ manifest }) => manifest.id).join(', ');
  throw new PlatformError('MODEL_NOT_FOUND', `No model is called "${id}". There are: ${ids}.`);
}

export function installedBytes(model: InstalledModel): number {
  return model.record.files.reduce((sum, { bytes }) => sum + bytes, 0);
}
