import type { Clock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import { Logger } from '#platform/logging';
import { QueueTransport } from '#queue';
import { type AttemptResult, BackgroundRetries, type RetryTask } from '../lifecycle/background-retries.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';

/** A job whose caller was told that it was not accepted. */
export interface AbandonedAdmission {
  requestId: string;
  modality: string;
  modelId: string;
  /** Ms from now after which the sweep has expired it. */
  deadlineMs: number;
  /** True while the server may still be committing the row: a missing row proves nothing yet. */
  isUncertain?: boolean;
  /** The client left while the job was being prepared. */
  isCancelled?: boolean;
}

export interface AbandonedAdmissionsTiming {
  clock?: Clock;
  /** Waits between two attempts, and between two lookups of a row that may appear. */
  pause?: (milliseconds: number) => Promise<void>;
}

/** Pause after a failed attempt, doubled up to the maximum, in ms: shorter than any sweep needs to look twice. */
const firstPauseMs = 250;
const longestPauseMs = 2_000;

/**
 * Pauses before lookups of a row that may still be committed, in ms: a server that stalls longer is left to the sweep.
 */
const recheckAfterMs = [5_000, 10_000, 15_000, 30_000];

/** Rows closed at once, and rows remembered; more than these are left to the sweep. */
const atOnce = 64;
const maxWaiting = 20_000;

interface Waiting extends AbandonedAdmission, RetryTask {
  looks: number;
  /** Its row is closed: no sweep re-enqueues the job. */
  isClosed: boolean;
  /** Queue and workers were notified after the last moment at which a sweep could have re-enqueued the job. */
  isPublished: boolean;
}

/**
 * Ends jobs whose callers got `SERVICE_UNAVAILABLE` while it was unknown whether database or queue had accepted them.
 * Without this, a sweep would re-enqueue such a row and charge the caller for a response that is never read, or a
 * worker would run an accepted job for nothing. Retries until the database has closed the row, the queue was asked to
 * remove the job, and the bus has notified the workers, which remember it. If this process dies, its memory is lost,
 * and workers then refuse jobs without a reader.
 */
@Injectable()
export class AbandonedAdmissions {
  private readonly retries: BackgroundRetries<Waiting>;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly closer: JobCloser,
    private readonly transport: QueueTransport,
    private readonly logger: Logger,
    @Optional() { clock, pause }: AbandonedAdmissionsTiming = {},
  ) {
    this.retries = new BackgroundRetries({
      attempt: async (job) => (await this.attempt(job)).result,
      giveUp: (job) => this.giveUp(job),
      pauseMs: (failures) => Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs),
      next: chooseNext,
      maxTasks: maxWaiting,
      clock,
      pause,
    });
  }

  /** Closes the row and stops the job, now if possible, otherwise later; never rejects. */
  async close(job: AbandonedAdmission): Promise<void> {
    const waiting = this.waitingOf(job, 0);
    const { result, error } = await this.attempt(waiting);
    if (result === 'done') return;
    const { requestId } = job;
    this.logger.warn({ requestId, error }, 'a job that nobody wants could not be ended yet');
    this.retries.add(waiting);
  }

  /** Returns immediately, for a database that is unavailable. */
  closeLater(job: AbandonedAdmission, looks = 0): void {
    this.retries.add(this.waitingOf(job, looks));
  }

  private waitingOf(job: AbandonedAdmission, looks: number): Waiting {
    const untilMs = this.retries.clock.monotonicMs() + job.deadlineMs;
    return { ...job, looks, untilMs, isClosed: false, isPublished: false };
  }

  private async attempt(job: Waiting): Promise<{ result: AttemptResult; error?: unknown }> {
    const { isClosed: wasClosed, isPublished: wasPublished } = job;
    // A row that may never be written has no job in the queue either.
    const mayBeQueued = wasClosed || job.isUncertain !== true;
    const [closing, telling] = await Promise.allSettled([
      wasClosed ? true : this.closeRow(job),
      mayBeQueued && !wasPublished ? this.stop(job) : undefined,
    ]);
    job.isClosed = closing.status === 'fulfilled';
    // Notifications sent before the row was closed do not count: a sweep may have re-enqueued the job in between.
    job.isPublished = telling.status === 'fulfilled' && (wasPublished ? wasClosed || !job.isClosed : mayBeQueued);
    if (closing.status === 'fulfilled' && !closing.value && job.isUncertain === true) {
      this.recheck(job);
      return { result: 'done' };
    }
    if (job.isClosed && job.isPublished) return { result: 'done' };
    const error: unknown = [closing, telling].find((settled) => settled.status === 'rejected')?.reason;
    return { result: job.isClosed && !wasClosed ? 'progressed' : 'failed', error };
  }

  private recheck({ looks, ...job }: Waiting): void {
    const pauseMs = recheckAfterMs[looks];
    if (pauseMs !== undefined) void this.retries.pause(pauseMs).then(() => this.closeLater(job, looks + 1));
  }

  private giveUp({ requestId, isClosed }: Waiting): void {
    const { logger } = this;
    if (isClosed) logger.warn({ requestId }, 'a job that nobody wants could not be stopped: it may run for nothing');
    else logger.error({ requestId }, 'a row that nobody wants is left to the sweep');
  }

  /** Removes the job from the queue, and has every worker drop it that has it or will get it. */
  private async stop({ requestId, modality, modelId }: AbandonedAdmission): Promise<void> {
    const { producer, cancelBus } = this.transport;
    const results = await Promise.allSettled([
      cancelBus.cancel(requestId),
      producer.remove(modality, modelId, requestId),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Whatever its current attempt. Resolves to whether there is such a row; has no effect without one. */
  private async closeRow({ requestId, isCancelled = false }: AbandonedAdmission): Promise<boolean> {
    const { jobs, closer } = this;
    const ending = isCancelled
      ? ({ state: 'cancelled', errorCode: 'JOB_CANCELLED' } as const)
      : ({ state: 'failed', errorCode: 'SERVICE_UNAVAILABLE' } as const);
    const state = { ...ending, usage: null, executionMs: 0 };
    if ((await closer.close({ requestId, ...state, attempt: 1 })) !== null) return true;
    let row = await jobs.find(requestId);
    for (; row !== null && isOpen(row.state); row = await jobs.find(requestId)) {
      await closer.close({ requestId, ...state, attempt: row.attempt });
    }
    return row !== null;
  }
}

/** Rows first: an unavailable queue must not keep them open. */
function chooseNext(all: Waiting[]): Waiting[] {
  const open = all.filter(({ isClosed }) => !isClosed);
  return (open.length > 0 ? open : all).slice(0, atOnce);
}

function isOpen(state: string): boolean {
  return state === 'queued' || state === 'running';
}
