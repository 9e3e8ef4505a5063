import type { Clock } from '#common';
import { type PickupCheck, PickupWatch } from './pickup-watch.js';

/** Looks at the queue within the time that it may be silent. */
const looksPerSilence = 5;

export interface QueueWatchdogDependencies {
  /** For the log: `chat.<model>`. */
  queue: string;
  countWaiting: () => Promise<number>;
  consumer: () => Pick<PickupCheck, 'hasCapacity' | 'pickups'>;
  restart: () => void;
  clock: Clock;
  warn: (message: string) => void;
}

/** Looks at one consumer and its queue again and again, and acts on what the watch makes of it. */
export class QueueWatchdog {
  private readonly watch: PickupWatch;
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;

  constructor(
    private readonly patienceMs: number,
    private readonly parts: QueueWatchdogDependencies,
  ) {
    this.watch = new PickupWatch(patienceMs);
  }

  get isStalled(): boolean {
    return this.watch.isStalled;
  }

  start(): void {
    this.timer = setInterval(() => {
      if (!this.isLooking) void this.look();
    }, this.patienceMs / looksPerSilence);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async look(): Promise<void> {
    const { queue, countWaiting, consumer, restart, clock, warn } = this.parts;
    this.isLooking = true;
    const waiting = await countWaiting().catch(() => null);
    this.isLooking = false;
    if (this.timer === undefined) return;
    const wasStalled = this.watch.isStalled;
    const decision = this.watch.look({ atMs: clock.monotonicMs(), waiting, ...consumer() });
    const silence = `${waiting} jobs wait in ${queue}, there is room for them, and none came for ${this.patienceMs} ms`;
    if (decision === 'rebuild') {
      warn(`${silence}: the connections to the queue are opened anew.`);
      restart();
    } else if (decision === 'deaf' && !wasStalled) {
      warn(`${silence}, although the connections were opened anew: /health/live fails now, restart this process.`);
    }
  }
}
