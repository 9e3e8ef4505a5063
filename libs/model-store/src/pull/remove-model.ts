import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { modelFolder, modelLockFile, modelsFolder, partialModelFolder } from '../layout.js';
import { withFileLock } from './file-lock.js';

/**
 * Takes an installed model and what a pull left of it from the disk; false when there was neither. Waits for a pull
 * that is under way. A worker that holds the model keeps its open files until it lets go of them.
 */
export async function removeInstalledModel(home: string, modelId: string, signal?: AbortSignal): Promise<boolean> {
  const folder = modelFolder(home, modelId);
  const partial = partialModelFolder(home, modelId);
  if (!existsSync(folder) && !existsSync(partial)) return false;
  return withFileLock({ path: modelLockFile(home, modelId), signal }, async () => {
    // Renamed first: nobody shall find a model that is half gone.
    const aside = join(modelsFolder(home), `.old-${modelId}-${randomUUID()}`);
    if (existsSync(folder)) await rename(folder, aside);
    await rm(aside, { recursive: true, force: true });
    await rm(partial, { recursive: true, force: true });
    return true;
  });
}
