import type { Clock } from '#common';
import type { Logger } from '#platform/logging';
import type { JobResult, QueueTransport } from '#queue';
import { type AttemptResult, BackgroundRetries, type RetryTask } from './background-retries.js';

export interface CancelledJobReporterOptions {
  transport: Pick<QueueTransport, 'results' | 'cancelBus'>;
  logger: Logger;
  clock?: Clock;
  /** Waits between two attempts. */
  pause?: (milliseconds: number) => Promise<void>;
}

/** How many attempts the caller who cancels awaits; later ones run in the background. */
const awaitedTries = 5;

/**
 * The pause before the next attempt, in ms, growing with the attempts up to the maximum, within which no sweep looks
 * twice.
 */
const againAfterMs = 500;
const longestPauseMs = 2_000;

/** Maximum number of reports in the background; more are left to the sweep. */
const maxUnpublished = 5_000;

interface UnreportedResult extends RetryTask {
  result: JobResult;
  tries: number;
}

/**
 * Reports the results of jobs that were removed from the queue. Unreported, a sweep would re-enqueue such a job and the
 * caller would pay for it. So workers are notified after every failed attempt, and after the one that succeeds
 * following such, before which a sweep may have been faster. Retries until the queue has accepted the result or the
 * deadline of the job has passed, after which no sweep re-enqueues it.
 */
export class CancelledJobReporter {
  private readonly retries: BackgroundRetries<UnreportedResult>;

  constructor(private readonly options: CancelledJobReporterOptions) {
    const { logger, clock, pause } = options;
    this.retries = new BackgroundRetries({
      // Each round attempts all of them: no pause may be so long that a sweep looks twice in it.
      attempt: (task) => this.attempt(task),
      giveUp: ({ requestId }) => logger.error({ requestId }, 'a job that was taken back is left to the sweep'),
      pauseMs: () => longestPauseMs,
      maxTasks: maxUnpublished,
      clock,
      pause,
    });
  }

  /** Resolves when it is reported, or continues in the background; never rejects. */
  async tell(result: JobResult, deadlineAtMs: number): Promise<void> {
    const { clock } = this.retries;
    const untilMs = clock.monotonicMs() + deadlineAtMs - clock.nowMs();
    const task = { requestId: result.requestId, result, untilMs, tries: 0 };
    while (task.tries < awaitedTries) {
      if ((await this.attempt(task)) === 'done') return;
      await this.retries.pause(Math.min(againAfterMs * task.tries, longestPauseMs));
    }
    this.retries.add(task);
  }

  private async attempt(task: UnreportedResult): Promise<AttemptResult> {
    const { transport, logger } = this.options;
    const { requestId, result } = task;
    task.tries += 1;
    try {
      await transport.results.report(result);
      if (task.tries > 1) await transport.cancelBus.cancel(requestId).catch(() => undefined);
      return 'done';
    } catch (error) {
      if (task.tries === 1) logger.warn({ requestId, error }, 'that a job was taken back could not be told yet');
      await transport.cancelBus.cancel(requestId).catch(() => undefined);
      return 'failed';
    }
  }
}
