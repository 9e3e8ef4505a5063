import { errorText } from '#common/values';
import { type ModelManifest } from '#model-registry/manifest';
import { inPullOrder, listInstalledModels, pullModels } from '#model-store';
import type { LocalConfig } from '#platform/config';
import type { MergedLog } from './merged-log.js';

/** Returns those of the models that are not installed yet, in the order of their pulls. */
export async function stillComing(home: string, wanted: readonly ModelManifest[]): Promise<ModelManifest[]> {
  const installed = new Set((await listInstalledModels(home)).map(({ manifest }) => manifest.id));
  return inPullOrder([...wanted]).filter(({ id }) => !installed.has(id));
}

/**
 * Pulls missing models while everything else runs; workers load each model once it is complete. Never rejects: without
 * a network the next start retries.
 */
export async function pullStarterModels(
  manifests: ModelManifest[],
  config: LocalConfig,
  log: MergedLog,
  signal: AbortSignal,
): Promise<void> {
  if (manifests.length === 0) return;
  const reporter = log.progress();
  try {
    const results = await pullModels({
      home: config.home,
      manifests,
      reporter,
      signal,
      sources: {
        hubEndpoint: config.hubEndpoint,
        hubToken: config.hubToken,
        pypiIndex: config.pypiIndex,
        pinnedOnly: config.pinnedModelsOnly,
      },
    });
    reporter.close();
    const failed = results.filter(({ status }) => status === 'failed').map(({ modelId }) => modelId);
    if (failed.length > 0) log.note(`not pulled: ${failed.join(', ')}; the next start tries again`);
  } catch (error) {
    reporter.close();
    if (!signal.aborted) log.note(`pulling stopped: ${errorText(error)}`);
    else log.note('the next start resumes the pull');
  }
}
