import { type Clock, PlatformError, systemClock } from '#common';
import type { LimitOverride } from './limit-override.js';
import { LimitSnapshot, type StandingLimits } from './limit-snapshot.js';

/** How long a changed limit may take to apply, in ms. */
const cacheMs = 5_000;

/** Caches all overrides for 5 s; when a read fails, the previous limits stay in effect. */
export class LimitConfig {
  private current: LimitSnapshot | null = null;
  private untilMs = -Infinity;
  private reading: Promise<LimitSnapshot> | null = null;

  constructor(
    private readonly read: () => Promise<LimitOverride[]>,
    private readonly standing: StandingLimits,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Rejects with `SERVICE_UNAVAILABLE` when nothing could be read yet. */
  async page(): Promise<LimitSnapshot> {
    if (this.current !== null && this.clock.monotonicMs() < this.untilMs) return this.current;
    this.reading ??= this.turn().finally(() => (this.reading = null));
    return await this.reading;
  }

  private async turn(): Promise<LimitSnapshot> {
    try {
      this.current = new LimitSnapshot(await this.read(), this.standing);
    } catch (error) {
      if (this.current === null) {
        throw new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot read its rate limits right now.', null, {
          cause: error,
        });
      }
    }
    this.untilMs = this.clock.monotonicMs() + cacheMs;
    return this.current;
  }
}
