import type { MergedLog } from './merged-log.js';

/** A terminal and npm may both pass on one Ctrl-C; what comes within this time is the same one. */
const sameSignalMs = 700;

/** SIGINT, SIGTERM or SIGHUP: the first asks everything to end, a second one stops waiting. */
export class StopRequest {
  private readonly controller = new AbortController();
  private firstMs = 0;
  private force: () => void = () => undefined;
  private readonly listener = (): void => this.onSignal();

  constructor(private readonly log: MergedLog) {
    for (const name of signals) process.on(name, this.listener);
  }

  /** Aborts at the first signal. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get requested(): Promise<void> {
    return new Promise((resolve) => {
      if (this.signal.aborted) resolve();
      else this.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  onSecond(force: () => void): void {
    this.force = force;
  }

  dispose(): void {
    for (const name of signals) process.off(name, this.listener);
  }

  private onSignal(): void {
    const nowMs = performance.now();
    if (!this.signal.aborted) {
      this.firstMs = nowMs;
      this.log.note('stopping; a second Ctrl-C does not wait for open answers');
      this.controller.abort(new Error('stopped'));
    } else if (nowMs - this.firstMs > sameSignalMs) {
      this.force();
    }
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
