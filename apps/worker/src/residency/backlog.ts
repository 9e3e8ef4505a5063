import { modalitiesOf } from '#modalities';
import type { JobProducer } from '#queue';
import type { InstalledModel } from '../models-folder.js';

/** Pause between two looks at the queues, in ms. */
const checkIntervalMs = 2_000;

/**
 * Jobs that wait for a model which nobody holds: admitted while somebody did, as async jobs are that a worker left behind.
 * No caller asks for them again, so they speak for their model themselves.
 */
export class Backlog {
  private lookedAtMs = -Infinity;

  constructor(private readonly producer: JobProducer) {}

  /** Ids of the models with jobs in their queues; none when it looked just before, or where the store is away. */
  async among(models: readonly InstalledModel[]): Promise<string[]> {
    const nowMs = performance.now();
    if (models.length === 0 || nowMs - this.lookedAtMs < checkIntervalMs) return [];
    this.lookedAtMs = nowMs;
    const looks = models.map(async ({ manifest }) => ((await this.hasJobs(manifest)) ? manifest.id : null));
    return (await Promise.all(looks)).filter((id) => id !== null);
  }

  private async hasJobs(manifest: InstalledModel['manifest']): Promise<boolean> {
    try {
      const counts = await Promise.all(modalitiesOf(manifest).map((name) => this.producer.counts(name, manifest.id)));
      return counts.some(({ waiting, delayed, prioritized }) => waiting + delayed + prioritized > 0);
    } catch {
      // It looks again; while the store is away no job could be taken either.
      return false;
    }
  }
}
