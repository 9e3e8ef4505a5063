import { bundledManifestFolder, listedManifests, loadManifestFolder } from '#model-registry/manifest';
import type { CliContext } from '../cli-context.js';

/**
 * Registers a folder of manifests. `npm start` does this itself. A multi-replica deployment does it once per release,
 * after the migrations, so that old and new replicas do not overwrite each other.
 */
export async function syncModels(
  context: CliContext,
  folder: string | undefined,
  { json }: { json?: boolean },
): Promise<void> {
  const manifests = listedManifests(await loadManifestFolder(folder ?? bundledManifestFolder()), 'none');
  const changed = await (await context.requireRegistry()).upsert(manifests);
  const ids = manifests.map(({ id }) => id);
  if (json) return context.output.json({ models: ids, changed });
  for (const id of ids) context.output.line(`${id}: ${changed.includes(id) ? 'registered' : 'unchanged'}`);
}
