import { type Clock, inBatches, systemClock } from '#common';
import type { PostgresLimitStore } from './postgres-limit.repository.js';

/** Windows are deleted an hour after their last request, so frequent runs would find little. */
const everyMs = 600_000;

/** Windows per statement, which must finish within its timeout, and statements per run; the next run continues. */
const batch = 5_000;
const maxBatches = 20;

/** Deletes expired windows and leases from the database; a sweep of `#jobs`. Redis needs none: its keys expire. */
export class DeleteExpiredWindowsSweep {
  readonly name = 'delete-expired-windows';
  private nextMs = -Infinity;

  constructor(
    private readonly store: Pick<PostgresLimitStore, 'forget' | 'forgetLeases'>,
    private readonly clock: Clock = systemClock,
  ) {}

  async run(): Promise<number> {
    if (this.clock.monotonicMs() < this.nextMs) return 0;
    const count = await inBatches(batch, (max) => this.store.forget(max), maxBatches);
    await inBatches(batch, (max) => this.store.forgetLeases(max), maxBatches);
    if (count < batch * maxBatches) this.nextMs = this.clock.monotonicMs() + everyMs;
    return count;
  }
}
