import { setMaxListeners } from 'node:events';
import { Injectable } from '#platform/injection';

/** Tracks requests in flight and ends them when the process is told to stop. */
@Injectable()
export class Drain {
  private active = 0;
  private stopping = false;
  private idle: (() => void) | undefined;
  private readonly giveUp = new AbortController();

  constructor() {
    // Every open response adds a listener; Node would warn of a leak from the eleventh on.
    setMaxListeners(0, this.giveUp.signal);
  }

  /** True after the stop signal: new requests are rejected. */
  get draining(): boolean {
    return this.stopping;
  }

  /** Aborts when the grace period is over; streams then end with an error frame. */
  get expired(): AbortSignal {
    return this.giveUp.signal;
  }

  enter(): void {
    this.active += 1;
  }

  leave(): void {
    this.active -= 1;
    if (this.active === 0) this.idle?.();
  }

  /** Resolves when no request is left, at the latest `finalFrameMs` after the grace period. */
  async drain(graceMs: number, finalFrameMs = 2_000): Promise<void> {
    this.stopping = true;
    if (await this.idleWithin(graceMs)) return;
    this.giveUp.abort();
    await this.idleWithin(finalFrameMs);
  }

  private async idleWithin(milliseconds: number): Promise<boolean> {
    if (this.active === 0) return true;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), milliseconds);
      this.idle = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
