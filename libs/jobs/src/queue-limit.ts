import { type Clock, PlatformError, systemClock } from '#common';
import type { JobProducer } from '#queue';

const reuseMs = 100;

interface Reading {
  /** As the queue said, and what was let in since. */
  waiting: number;
  atMs: number;
}

/**
 * Refuses jobs of a model whose queue is full. Far from the limit a reading serves for 100 ms; near it every admission
 * asks the queue.
 */
export class QueueLimit {
  private readonly readings = new Map<string, Reading>();

  constructor(
    private readonly producer: JobProducer,
    private readonly limit: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Rejects with `MODEL_AT_CAPACITY`. */
  async check(modality: string, modelId: string): Promise<void> {
    if ((await this.waiting(modality, modelId)) >= this.limit) {
      throw new PlatformError('MODEL_AT_CAPACITY', 'Too many requests wait for this model. Try again later.', 'model');
    }
  }

  private async waiting(modality: string, modelId: string): Promise<number> {
    const key = `${modality}.${modelId}`;
    const known = this.readings.get(key);
    const nowMs = this.clock.monotonicMs();
    if (known && known.waiting * 2 < this.limit && nowMs - known.atMs < reuseMs) {
      // The job about to be admitted waits too; without it, a burst would pass on one old reading.
      known.waiting += 1;
      return known.waiting - 1;
    }
    const counts = await this.producer.counts(modality, modelId);
    const waiting = counts.waiting + counts.prioritized + counts.delayed;
    this.readings.set(key, { waiting: waiting + 1, atMs: nowMs });
    return waiting;
  }
}
