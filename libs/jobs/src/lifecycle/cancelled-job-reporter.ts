import type { Clock } from '#common';
import type { Logger } from '#platform/logging';
import type { JobResult, QueueTransport } from '#queue';
import { type AttemptResult, BackgroundRetries, type RetryTask } from './background-retries.js';

export interface CancelledJobReporterOptions {
  transport: Pick<QueueTransport, 'results' | 'cancelBus'>;
  logger: Logger;
  clock?: Clock;
  /** Waits between two tries. */
  pause?: (milliseconds: number) => Promise<void>;
}

/** How often whoever took a job back waits for its outcome to be told; then it is told behind their back. */
const awaitedTries = 5;

/** The pause before the next try, in ms: so many times the tries before, up to the longest, which no sweep looks twice in. */
const againAfterMs = 500;
const longestPauseMs = 2_000;

/** Told behind their back at once; more are left to the sweep. */
const maxUnpublished = 5_000;

interface UnreportedResult extends RetryTask {
  result: JobResult;
  tries: number;
}

/**
 * Tells the outcomes of jobs that were taken out of the queue. Untold, a sweep would bring such a job back, and the caller
 * would pay for it: so workers are told that nobody wants it, behind every try that failed and behind the one that succeeds
 * after such, before which a sweep may have been quicker. Tries until the queue has taken the outcome or the job's deadline
 * has passed, behind which no sweep brings it back.
 */
export class CancelledJobReporter {
  private readonly retries: BackgroundRetries<UnreportedResult>;

  constructor(private readonly options: CancelledJobReporterOptions) {
    const { logger, clock, pause } = options;
    this.retries = new BackgroundRetries({
      // All of them in each round: no pause may be so long that a sweep looks twice in it.
      attempt: (task) => this.attempt(task),
      giveUp: ({ requestId }) => logger.error({ requestId }, 'a job that was taken back is left to the sweep'),
      pauseMs: () => longestPauseMs,
      maxTasks: maxUnpublished,
      clock,
      pause,
    });
  }

  /** Resolves when it is told, or goes on by itself; never rejects. */
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
