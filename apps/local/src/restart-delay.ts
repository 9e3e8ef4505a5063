import { type Clock, systemClock } from '#common';

const firstMs = 500;
const longestMs = 30_000;
/** A process that ran this long was healthy: its next crash is a new story. */
const healthyMs = 60_000;

/** How long to wait before a process that ended is started again: 0.5 s, doubling up to 30 s. */
export class RestartDelay {
  private startedMs = 0;
  private nextMs = firstMs;

  constructor(private readonly clock: Clock = systemClock) {}

  started(): void {
    this.startedMs = this.clock.monotonicMs();
  }

  next(): number {
    if (this.clock.monotonicMs() - this.startedMs >= healthyMs) this.nextMs = firstMs;
    const delayMs = this.nextMs;
    this.nextMs = Math.min(this.nextMs * 2, longestMs);
    return delayMs;
  }
}
