import { type Clock, inBatches, systemClock } from '#common';
import type { KeyUsageRepository } from './key-usage.repository.js';

/** Days of a key's spend that stay single rows; the longest window that is shown has 7. */
const keptDays = 100;

const batchRows = 1_000;

/** Pause between two runs, in ms: a day adds one row per key. */
const everyMs = 3_600_000;

/** Adds the spend of old days up, so that a key has a bounded number of rows. Its total stays the same. */
export class FoldKeyDaysSweep {
  readonly name = 'fold-key-days';
  private nextMs = -Infinity;

  constructor(
    private readonly repository: Pick<KeyUsageRepository, 'foldDays'>,
    private readonly clock: Clock = systemClock,
  ) {}

  async run(): Promise<number> {
    const nowMs = this.clock.monotonicMs();
    if (nowMs < this.nextMs) return 0;
    const count = await inBatches(batchRows, (max) => this.repository.foldDays(keptDays, max));
    this.nextMs = nowMs + everyMs;
    return count;
  }
}
