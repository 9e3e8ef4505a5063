import { type Clock, inBatches, systemClock } from '#common';
import type { PostgresLimitStore } from './postgres-limit.repository.js';

/** Windows are dropped an hour after their last request: looking more often finds little. */
const everyMs = 600_000;

/** Windows of a statement, which must end within its limit of time, and statements of one run: the next one goes on. */
const batch = 5_000;
const maxBatches = 20;

/** Drops forgotten windows from the database; a sweep of `#jobs`. Redis needs none: its keys expire. */
export class DeleteExpiredWindowsSweep {
  readonly name = 'forget-windows';
  private nextMs = -Infinity;

  constructor(
    private readonly store: Pick<PostgresLimitStore, 'forget'>,
    private readonly clock: Clock = systemClock,
  ) {}

  async run(): Promise<number> {
    if (this.clock.monotonicMs() < this.nextMs) return 0;
    const count = await inBatches(batch, (max) => this.store.forget(max), maxBatches);
    if (count < batch * maxBatches) this.nextMs = this.clock.monotonicMs() + everyMs;
    return count;
  }
}
