import { type Clock, inBatches, systemClock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import { RunInterval } from '#platform/timed-call';
import { KeyUsageRepository } from './key-usage.repository.js';

/** Days of a key's spend that stay single rows; the longest window that is shown has 7. */
const keptDays = 100;

const batchRows = 1_000;

/** Pause between two runs, in ms: a day adds one row per key. */
const everyMs = 3_600_000;

/** Adds the spend of old days up, so that a key has a bounded number of rows. Its total stays the same. */
@Injectable()
export class FoldKeyDaysSweep {
  readonly name = 'fold-key-days';
  private readonly interval: RunInterval;

  constructor(
    private readonly repository: KeyUsageRepository,
    @Optional() private readonly clock: Clock = systemClock,
  ) {
    this.interval = new RunInterval(everyMs, clock);
  }

  async run(): Promise<number> {
    if (!this.interval.isDue) return 0;
    const startedMs = this.clock.monotonicMs();
    const count = await inBatches(batchRows, (max) => this.repository.foldDays(keptDays, max));
    this.interval.restart(startedMs);
    return count;
  }
}
