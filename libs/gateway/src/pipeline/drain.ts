import { setMaxListeners } from 'node:events';

/** Requests in flight, and the way they end when the process is told to stop. */
export class Drain {
  private active = 0;
  private stopping = false;
  private idle: (() => void) | undefined;
  private readonly giveUp = new AbortController();

  constructor() {
    // Every open answer listens; from the eleventh on Node would warn of a leak.
    setMaxListeners(0, this.giveUp.signal);
  }

  /** True from the stop signal on: new requests are turned away. */
  get draining(): boolean {
    return this.stopping;
  }

  /** Aborts when the grace is over: streams end with an error frame. */
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

  /** Resolves when no request is left: at the latest `lastWordsMs` after the grace is over. */
  async drain(graceMs: number, lastWordsMs = 2_000): Promise<void> {
    this.stopping = true;
    if (await this.idleWithin(graceMs)) return;
    this.giveUp.abort();
    await this.idleWithin(lastWordsMs);
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
