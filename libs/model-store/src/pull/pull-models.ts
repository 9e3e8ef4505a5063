import type { ModelManifest } from '#model-registry/manifest';
import type { SourceSettings } from '../source/source-settings.js';
import { listInstalledModels } from '../installed-models.js';
import { installModel } from './install-model.js';
import type { ProgressReporter } from './progress.js';
import { formatSeconds } from './progress-reporter.js';

export interface PullModelsOptions {
  /** `SLUICE_HOME`. */
  home: string;
  /** Pulled one after the other: the smallest text model, then smallest installed size first, so that chat is online soon. */
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
  const manifests = inPullOrder(options.manifests);
  const installed = new Set((await listInstalledModels(options.home)).map(({ manifest }) => manifest.id));
  for (const [index, manifest] of manifests.entries()) {
    options.signal?.throwIfAborted();
    const next = manifests.slice(index + 1).filter(({ id }) => !installed.has(id));
    options.reporter.coming?.(next.map(({ id, installedBytes }) => ({ modelId: id, bytes: installedBytes })));
    const result = await pullOne(manifest, options);
    if (result.status !== 'failed') await options.onInstalled?.(manifest.id);
    results.push(result);
  }
  return results;
}

async function pullOne(manifest: ModelManifest, options: PullModelsOptions): Promise<PullResult> {
  const { reporter } = options;
  const startedMs = performance.now();
  try {
    const result = await installModel({ ...options, manifest });
    const seconds = formatSeconds((performance.now() - startedMs) / 1_000);
    if (result.status === 'installed') reporter.note(`${manifest.id}: installed in ${seconds}`);
    return { modelId: manifest.id, ...result };
  } catch (error) {
    options.signal?.throwIfAborted();
    const failure = error instanceof Error ? error : new Error(String(error));
    reporter.note(`${manifest.id}: ${failure.message}`);
    return { modelId: manifest.id, status: 'failed', error: failure };
  }
}

/** The order of pulls: the smallest text model, then smallest first, and adapters after their bases. */
export function inPullOrder(manifests: readonly ModelManifest[]): ModelManifest[] {
  const bySize = [...manifests].sort(
    (left, right) =>
      Number(left.adapterOf !== undefined) - Number(right.adapterOf !== undefined) ||
      (left.installedBytes ?? Infinity) - (right.installedBytes ?? Infinity),
  );
  const first = bySize.find(({ type }) => type === 'text');
  return first === undefined ? bySize : [first, ...bySize.filter((manifest) => manifest !== first)];
}
