import { PlatformError } from '#common';
import { type InstalledModel, listInstalledModels, readInstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';

/** Finds the installed base of an adapter: the given id, or the one model that has the name of its base. */
export function baseFinder({ config: { home } }: CliContext, id: string | undefined) {
  return async (baseName: string | null): Promise<InstalledModel> => {
    if (id !== undefined) return await requireInstalled(home, id);
    const bases = (await listInstalledModels(home)).filter(
      ({ manifest }) => manifest.type === 'text' && manifest.adapterOf === undefined,
    );
    const [found, ...others] = bases.filter((model) => baseName !== null && isNamed(model, baseName));
    if (found !== undefined && others.length === 0) return found;
    const trained = baseName === null ? 'Its base is not named' : `It was trained for ${baseName}`;
    const ids = bases.map(({ manifest }) => manifest.id).join(', ') || 'none';
    const message = `${trained}. Name the installed model that it changes with --base; installed are: ${ids}.`;
    throw new PlatformError('INVALID_REQUEST', message);
  };
}

/** Returns an installed model. Throws `MODEL_NOT_FOUND` that says how to install it. */
export async function requireInstalled(home: string, id: string): Promise<InstalledModel> {
  const found = await readInstalledModel(home, id);
  if (found !== null) return found;
  throw new PlatformError('MODEL_NOT_FOUND', `${id} is not installed here. First: sluice models pull ${id}`);
}

/** By the repository that it came from, or the last part of its name. */
function isNamed({ manifest: { id, sources, modelSource } }: InstalledModel, baseName: string): boolean {
  const last = baseName.slice(baseName.lastIndexOf('/') + 1).toLowerCase();
  const isFrom = sources.some(({ uri }) => uri === `hf:${baseName}` || uri.startsWith(`hf:${baseName}@`));
  return id === last || isFrom || modelSource.endsWith(`/${baseName}`);
}
