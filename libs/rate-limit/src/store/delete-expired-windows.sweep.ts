import { type Clock, inBatches, systemClock } from '#common';
import { RunInterval } from '#platform/timed-call';
import type { PostgresLimitStore } from './postgres-limit.repository.js';

/** Windows are deleted an hour after their last request, so frequent runs would find little. */
const everyMs = 600_000;

/** Windows per statement, which must finish within its timeout, and statements per run; the next run continues. */
const batch = 5_000;
const maxBatches = 20;

/** Deletes expired windows and leases from the database; a sweep of `#jobs`. Redis needs none: its keys expire. */
export class DeleteExpiredWindowsSweep {
  readonly name = 'delete-expired-windows';
  private readonly interval: RunInterval;

  constructor(
    private readonly store: Pick<PostgresLimitStore, 'forget' | 'forgetLeases'>,
    clock: Clock = systemClock,
  ) {
    this.interval = new RunInterval(everyMs, clock);
  }

  async run(): Promise<number> {
    if (!this.interval.isDue) return 0;
    const count = await inBatches(batch, (max) => this.store.forget(max), maxBatches);
    await inBatches(batch, (max) => this.store.forgetLeases(max), maxBatches);
    if (count < batch * maxBatches) this.interval.restart();
    return count;
  }
}
