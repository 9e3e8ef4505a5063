import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { modelFolder, modelLockFile, modelsFolder, partialModelFolder } from '../layout.js';
import { withFileLock } from './file-lock.js';

/**
 * Deletes an installed model and leftovers of its pulls; returns false if there was neither. Waits for a running pull.
 * A worker that serves the model keeps its open files until it unloads it.
 */
export async function removeInstalledModel(home: string, modelId: string, signal?: AbortSignal): Promise<boolean> {
  const folder = modelFolder(home, modelId);
  const partial = partialModelFolder(home, modelId);
  if (!existsSync(folder) && !existsSync(partial)) return false;
  return withFileLock({ path: modelLockFile(home, modelId), signal }, async () => {
    // Renamed first, so that no process finds an incomplete model.
    const aside = join(modelsFolder(home), `.old-${modelId}-${randomUUID()}`);
    if (existsSync(folder)) await rename(folder, aside);
    await rm(aside, { recursive: true, force: true });
    await rm(partial, { recursive: true, force: true });
    return true;
  });
}
