import { type Clock, systemClock } from '#common';

/** When periodic work is due again. It is due from the start. */
export class RunInterval {
  private nextMs = -Infinity;

  constructor(
    private readonly everyMs: number,
    private readonly clock: Clock = systemClock,
  ) {}

  get isDue(): boolean {
    return this.clock.monotonicMs() >= this.nextMs;
  }

  /** Makes it due `everyMs` after `fromMs`, a time of the monotonic clock. */
  restart(fromMs = this.clock.monotonicMs()): void {
    this.nextMs = fromMs + this.everyMs;
  }
}
