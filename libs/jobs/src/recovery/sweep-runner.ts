import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#platform/logging';
import type { Sweep } from './sweep.js';

export interface SweepRunnerOptions {
  sweeps: readonly Sweep[];
  intervalMs: number;
  logger: Logger;
  /** Called after each run; `found` is null when it failed. */
  onRun?: (sweep: string, found: number | null) => void;
}

/** Runs the sweeps one after the other, repeatedly, until closed. A failed sweep does not stop the others. */
export class SweepRunner {
  private readonly stopped = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: SweepRunnerOptions) {}

  start(): void {
    this.loop = this.repeat();
  }

  /** Resolves when the run in progress has ended, or after `maxWaitMs` when it may be left alone. */
  async close(maxWaitMs?: number): Promise<void> {
    this.stopped.abort();
    const waits = maxWaitMs === undefined ? [] : [sleep(maxWaitMs, undefined, { ref: false })];
    await Promise.race([this.loop, ...waits]);
  }

  private async repeat(): Promise<void> {
    const { intervalMs, sweeps } = this.options;
    while (!this.stopped.signal.aborted) {
      for (const sweep of sweeps) if (!this.stopped.signal.aborted) await this.runOne(sweep);
      // Jitter spreads replicas that started together, so that they rarely read the same rows.
      const pauseMs = intervalMs * (0.9 + Math.random() * 0.2);
      await sleep(pauseMs, undefined, { signal: this.stopped.signal }).catch(() => undefined);
    }
  }

  private async runOne(sweep: Sweep): Promise<void> {
    const { logger, onRun } = this.options;
    try {
      // A separate statement, since the arguments of an optional call are not evaluated without a listener.
      const found = await sweep.run();
      onRun?.(sweep.name, found);
    } catch (error) {
      logger.warn({ sweep: sweep.name, error }, 'a sweep failed, it will run again');
      onRun?.(sweep.name, null);
    }
  }
}
