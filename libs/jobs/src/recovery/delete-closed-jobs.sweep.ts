import { type Clock, systemClock } from '#common';
import { RunInterval } from '#platform/timed-call';
import type { JobsRepository } from '../lifecycle/jobs.repository.js';
import type { Sweep } from './sweep.js';

const oneDayMs = 86_400_000;

/** Rows per statement. */
const batchRows = 500;

/** How long one run may take, in ms: the other sweeps wait for it. */
const budgetMs = 1_000;

/** Pause after a run that found no more, in ms. */
const everyMs = 60_000;

export interface RetentionOptions {
  /** How long closed jobs stay. */
  days: number;
  /** How long the results of async jobs can be fetched. */
  storageLifetimeMs: number;
  clock?: Clock;
}

/** Deletes jobs some time after they ended, with their results and reservations. */
export class DeleteClosedJobsSweep implements Sweep {
  readonly name = 'delete-closed-jobs';
  private readonly ages: { ageMs: number; mediaAgeMs: number };
  private readonly clock: Clock;
  private readonly interval: RunInterval;

  constructor(
    private readonly jobs: Pick<JobsRepository, 'deleteClosed'>,
    { days, storageLifetimeMs, clock = systemClock }: RetentionOptions,
  ) {
    const ageMs = days * oneDayMs;
    // One more day, because a result may be written some time before its job is closed, or after.
    this.ages = { ageMs, mediaAgeMs: Math.max(ageMs, storageLifetimeMs + oneDayMs) };
    this.clock = clock;
    this.interval = new RunInterval(everyMs, clock);
  }

  async run(): Promise<number> {
    if (!this.interval.isDue) return 0;
    const startedMs = this.clock.monotonicMs();
    let count = 0;
    while (this.clock.monotonicMs() - startedMs < budgetMs) {
      const deleted = await this.jobs.deleteClosed({ ...this.ages, rows: batchRows });
      count += deleted;
      if (deleted < batchRows) {
        this.interval.restart(startedMs);
        break;
      }
    }
    return count;
  }
}
