/** The time, injectable for tests. Durations use `monotonicMs`, dates use `nowMs`. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Milliseconds from an arbitrary origin that never go backwards. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

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
