import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '#common';
import type { Logger } from '#platform/logging';
import type { JobResult, QueueTransport } from '#queue';

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

const idle = (milliseconds: number) => sleep(milliseconds, undefined, { ref: false });

/**
 * Tells the outcomes of jobs that were taken out of the queue. Untold, a sweep would bring such a job back, and the caller
 * would pay for it: so workers are told that nobody wants it, behind every try that failed and behind the one that succeeds
 * after such, before which a sweep may have been quicker. Tries until the queue has taken the outcome or the job's deadline
 * has passed, behind which no sweep brings it back.
 */
export class CancelledJobReporter {
  private readonly clock: Clock;
  private untold = 0;

  constructor(private readonly options: CancelledJobReporterOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /** Resolves when it is told, or goes on by itself; never rejects. */
  async tell(result: JobResult, deadlineAtMs: number): Promise<void> {
    const untilMs = this.clock.monotonicMs() + deadlineAtMs - this.clock.nowMs();
    for (let tries = 1; tries <= awaitedTries; tries += 1) {
      if (await this.tryOnce(result, tries)) return;
    }
    void this.goOn(result, untilMs);
  }

  private async goOn(result: JobResult, untilMs: number): Promise<void> {
    const { requestId } = result;
    this.untold += 1;
    if (this.untold <= maxUnpublished) {
      for (let tries = awaitedTries + 1; this.clock.monotonicMs() < untilMs; tries += 1) {
        if (!(await this.tryOnce(result, tries))) continue;
        this.untold -= 1;
        return;
      }
    }
    this.untold -= 1;
    this.options.logger.error({ requestId }, 'a job that was taken back is left to the sweep');
  }

  /** False, after a pause, when it must be told again. */
  private async tryOnce(result: JobResult, tries: number): Promise<boolean> {
    const { transport, logger, pause = idle } = this.options;
    const { requestId } = result;
    try {
      await transport.results.report(result);
      if (tries > 1) await transport.cancelBus.cancel(requestId).catch(() => undefined);
      return true;
    } catch (error) {
      if (tries === 1) logger.warn({ requestId, error }, 'that a job was taken back could not be told yet');
      await transport.cancelBus.cancel(requestId).catch(() => undefined);
      await pause(Math.min(againAfterMs * tries, longestPauseMs));
      return false;
    }
  }
}
