import { type Clock, systemClock } from '#common';

const firstMs = 500;
const longestMs = 30_000;
/** Uptime after which a process counts as healthy and its restart delay resets, in ms. */
const healthyMs = 60_000;

/** Delay before a process that exited is restarted: 0.5 s, doubling up to 30 s. */
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
