import type { MergedLog } from './merged-log.js';

/** Window within which repeated signals count as one, in ms: a terminal and npm may both forward one Ctrl-C. */
const debounceMs = 700;

/** Handles SIGINT, SIGTERM and SIGHUP: the first one stops gracefully, a second one stops at once. */
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
      this.log.note('stopping; press Ctrl-C again to skip waiting for open requests');
      this.controller.abort(new Error('stopped'));
    } else if (nowMs - this.firstMs > debounceMs) {
      this.force();
    }
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
