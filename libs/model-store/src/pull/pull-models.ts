import type { ModelManifest } from '#model-registry/manifest';
import type { SourceSettings } from '../source/source-settings.js';
import { installModel } from './install-model.js';
import type { ProgressReporter } from './progress.js';

export interface PullModelsOptions {
  /** `SLUICE_HOME`. */
  home: string;
  /** Pulled one after the other, smallest installed size first, so that a model is online soon. */
  manifests: ModelManifest[];
  reporter: ProgressReporter;
  signal?: AbortSignal;
  /** Called as soon as a model is complete, also if it was already installed; awaited before the next one. */
  onInstalled?: (modelId: string) => void | Promise<void>;
  /**
   * Hub endpoint and token, npm configuration. Default: the public hub without a token, the user's npm configuration.
   */
  sources?: SourceSettings;
}

export type PullResult =
  | { modelId: string; status: 'installed' | 'present'; folder: string }
  | { modelId: string; status: 'failed'; error: Error };

/**
 * Installs models under `<home>/models`. A complete model is left unchanged, one that another process pulls is waited
 * for, and an interrupted pull resumes. A failure of one model does not stop the others and is part of the results.
 * Rejects only when `signal` aborts, with its reason.
 */
export async function pullModels(options: PullModelsOptions): Promise<PullResult[]> {
  const results: PullResult[] = [];
  for (const manifest of smallestFirst(options.manifests)) {
    options.signal?.throwIfAborted();
    const result = await pullOne(manifest, options);
    if (result.status !== 'failed') await options.onInstalled?.(manifest.id);
    results.push(result);
  }
  return results;
}

async function pullOne(manifest: ModelManifest, options: PullModelsOptions): Promise<PullResult> {
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
