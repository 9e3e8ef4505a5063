import { type Clock, systemClock } from '#common';
import type { PostgresLimitStore } from './postgres-limit.repository.js';

/** Windows are dropped an hour after their last request: looking more often finds little. */
const everyMs = 600_000;

/** Drops forgotten windows from the database; a sweep of `#jobs`. Redis needs none: its keys expire. */
export class ForgetWindowsSweep {
  readonly name = 'forget-windows';
  private nextMs = -Infinity;

  constructor(
    private readonly store: Pick<PostgresLimitStore, 'forget'>,
    private readonly clock: Clock = systemClock,
  ) {}

  async run(): Promise<number> {
    if (this.clock.monotonicMs() < this.nextMs) return 0;
    const count = await this.store.forget();
    this.nextMs = this.clock.monotonicMs() + everyMs;
    return count;
  }
}
