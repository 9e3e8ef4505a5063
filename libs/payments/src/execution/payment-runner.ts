import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#platform/logging';
import type { PaymentExecutor } from './payment-executor.js';
import type { TopUpExecutionRepository } from './top-up-execution.repository.js';

export interface PaymentRunnerOptions {
  /** Null: payments are not configured. */
  executor: Pick<PaymentExecutor, 'begin' | 'idle'> | null;
  topUps: Pick<TopUpExecutionRepository, 'clean'>;
  logger: Logger;
  /** Pause after a look that found no payment, in ms: clients wait. */
  everyMs?: number;
  /** Called when the last payment is left. */
  onClose?: () => Promise<void>;
}

const cleanEveryMs = 600_000;
const cleanedRows = 500;

/** Executes payments on a timer until closed. Any number of replicas may run. */
export class PaymentRunner {
  private readonly stopped = new AbortController();
  private loop: Promise<void> = Promise.resolve();
  private nextCleanMs = 0;

  constructor(private readonly options: PaymentRunnerOptions) {}

  start(): void {
    const { executor } = this.options;
    if (executor !== null) this.loop = this.repeat(executor);
  }

  /** Settlements in progress end first; other calls are aborted, and the next process repeats them. */
  async close(): Promise<void> {
    this.stopped.abort();
    await this.loop;
    await this.options.executor?.idle();
    await this.options.onClose?.();
  }

  private async repeat(executor: Pick<PaymentExecutor, 'begin'>): Promise<void> {
    const { signal } = this.stopped;
    const { logger, everyMs = 400 } = this.options;
    while (!signal.aborted) {
      const found = await executor.begin(signal).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ error }, 'top-ups could not be read, they will be read again');
        return 0;
      });
      await this.clean();
      // Jitter spreads replicas, so that they rarely read the same rows.
      const pauseMs = found > 0 ? 50 : everyMs * (0.8 + Math.random() * 0.4);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  private async clean(): Promise<void> {
    if (performance.now() < this.nextCleanMs) return;
    this.nextCleanMs = performance.now() + cleanEveryMs;
    await this.options.topUps.clean(cleanedRows).catch((error: unknown) => {
      this.options.logger.warn({ error }, 'old top-ups could not be deleted, it will be tried again');
    });
  }
}
