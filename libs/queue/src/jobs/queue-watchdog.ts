import type { Clock } from '#common';
import { type PickupCheck, PickupWatch } from './pickup-watch.js';

/** How many times the queue is checked within the tolerated silence. */
const checksPerTimeout = 5;

export interface QueueWatchdogDependencies {
  /** Name of the queue for the log: `chat.<model>`. */
  queue: string;
  countWaiting: () => Promise<number>;
  consumer: () => Pick<PickupCheck, 'hasCapacity' | 'pickups'>;
  restart: () => void;
  clock: Clock;
  warn: (message: string) => void;
}

/** Checks one consumer and its queue repeatedly, and acts on the decision of the watch. */
export class QueueWatchdog {
  private readonly watch: PickupWatch;
  private timer: NodeJS.Timeout | undefined;
  private isChecking = false;

  constructor(
    private readonly timeoutMs: number,
    private readonly dependencies: QueueWatchdogDependencies,
  ) {
    this.watch = new PickupWatch(timeoutMs);
  }

  get isStalled(): boolean {
    return this.watch.isStalled;
  }

  start(): void {
    this.timer = setInterval(() => {
      if (!this.isChecking) void this.check();
    }, this.timeoutMs / checksPerTimeout);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async check(): Promise<void> {
    const { queue, countWaiting, consumer, restart, clock, warn } = this.dependencies;
    this.isChecking = true;
    const waiting = await countWaiting().catch(() => null);
    this.isChecking = false;
    if (this.timer === undefined) return;
    const wasStalled = this.watch.isStalled;
    const decision = this.watch.check({ atMs: clock.monotonicMs(), waiting, ...consumer() });
    const silence = `${waiting} jobs wait in ${queue}, there is room for them, and none came for ${this.timeoutMs} ms`;
    if (decision === 'restart') {
      warn(`${silence}: the connections to the queue are being reopened.`);
      restart();
    } else if (decision === 'stalled' && !wasStalled) {
      warn(`${silence}, although the connections were reopened: /health/live fails now, restart this process.`);
    }
  }
}
