import { modalitiesOf } from '#modalities';
import type { JobProducer } from '#queue';
import type { InstalledModel } from '../models-folder.js';

/** Pause between two queue scans, in ms. */
const checkIntervalMs = 2_000;

/**
 * Finds models without a replica that have waiting jobs, such as async jobs whose worker left. No client requests these
 * models again, so the backlog does.
 */
export class Backlog {
  private scannedAtMs = -Infinity;

  constructor(private readonly producer: JobProducer) {}

  /** Ids of models with jobs in their queues; empty right after a scan or when the store is unavailable. */
  async among(models: readonly InstalledModel[]): Promise<string[]> {
    const nowMs = performance.now();
    if (models.length === 0 || nowMs - this.scannedAtMs < checkIntervalMs) return [];
    this.scannedAtMs = nowMs;
    const scans = models.map(async ({ manifest, adapters = [] }) => {
      const served = [manifest, ...adapters.map((adapter) => adapter.manifest)];
      const found = await Promise.all(served.map((model) => this.hasJobs(model)));
      return found.includes(true) ? manifest.id : null;
    });
    return (await Promise.all(scans)).filter((id) => id !== null);
  }

  private async hasJobs(manifest: InstalledModel['manifest']): Promise<boolean> {
    try {
      const counts = await Promise.all(modalitiesOf(manifest).map((name) => this.producer.counts(name, manifest.id)));
      return counts.some(({ waiting, delayed }) => waiting + delayed > 0);
    } catch {
      // The next scan retries; no job could be consumed meanwhile either.
      return false;
    }
  }
}
