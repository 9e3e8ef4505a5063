import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '#common';
import type { Logger } from '#platform/logging';
import type { QueueTransport } from '#queue';
import type { JobCloser } from '../lifecycle/job-closer.js';
import type { JobsRepository } from '../lifecycle/jobs.repository.js';

/** A job whose caller was told that it was not taken. */
export interface AbandonedAdmission {
  requestId: string;
  modality: string;
  modelId: string;
  /** Ms from now after which the sweep has expired it. */
  deadlineMs: number;
  /** True when the server may still be committing the row: that there is none says nothing yet. */
  isDoubtful?: boolean;
}

export interface AbandonedAdmissionsOptions {
  jobs: JobsRepository;
  closer: JobCloser;
  transport: QueueTransport;
  logger: Logger;
  clock?: Clock;
  /** Waits between two tries, and between two looks for a row that may come. */
  pause?: (milliseconds: number) => Promise<void>;
}

/** Wait after a try that failed, doubled up to the longest, in ms: shorter than any sweep takes to look twice. */
const firstPauseMs = 250;
const longestPauseMs = 2_000;

/** Pauses before the looks for a row that may still be committed, in ms: a server that stalls for longer is the sweep's. */
const recheckAfterMs = [5_000, 10_000, 15_000, 30_000];

/** Rows closed at once, and rows kept in mind; more than these are left to the sweep. */
const atOnce = 64;
const maxWaiting = 20_000;

const idle = (milliseconds: number) => sleep(milliseconds, undefined, { ref: false });

interface Waiting extends AbandonedAdmission {
  untilMs: number;
  looks: number;
  /** Its row is closed: no sweep brings the job back any more. */
  isClosed: boolean;
  /** Queue and workers have been told, so late that no sweep has brought the job back since. */
  isPublished: boolean;
}

/**
 * Ends the jobs whose callers heard `SERVICE_UNAVAILABLE` while nobody knew whether database or queue had taken them. Such a
 * row must not wait for the sweep, which would bring the job back and have the caller pay for an answer that nobody awaits;
 * and a job that the queue took all the same must not keep a worker busy for nobody. Tries until the database has closed
 * the row, the queue was asked to give the job back, and the bus has told the workers, who remember it; with this process, its
 * memory of them is gone, and workers then refuse what has no reader.
 */
export class AbandonedAdmissions {
  private readonly clock: Clock;
  private readonly waiting = new Map<string, Waiting>();
  private isRunning = false;

  constructor(private readonly options: AbandonedAdmissionsOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /** Closes the row and stops the job, now if possible, else later; never rejects. */
  async close(job: AbandonedAdmission): Promise<void> {
    const { requestId } = job;
    const [closing, telling] = await Promise.allSettled([this.closeRow(requestId), this.stop(job)]);
    const failed = [closing, telling].find((result) => result.status === 'rejected');
    if (failed === undefined) return;
    const error = failed.reason as unknown;
    this.options.logger.warn({ requestId, error }, 'a job that nobody wants could not be ended yet');
    const [isClosed, isPublished] = [closing.status === 'fulfilled', telling.status === 'fulfilled'];
    this.keep({ ...job, looks: 0, untilMs: this.untilMs(job), isClosed, isPublished });
  }

  /** For a database that is away: returns at once. */
  closeLater(job: AbandonedAdmission, looks = 0): void {
    this.keep({ ...job, looks, untilMs: this.untilMs(job), isClosed: false, isPublished: false });
  }

  private untilMs({ deadlineMs }: AbandonedAdmission): number {
    return this.clock.monotonicMs() + deadlineMs;
  }

  private keep(job: Waiting): void {
    if (this.waiting.size >= maxWaiting) return this.giveUp(job);
    this.waiting.set(job.requestId, job);
    if (!this.isRunning) void this.run();
  }

  private async run(): Promise<void> {
    const { pause = idle } = this.options;
    this.isRunning = true;
    for (let pauseMs = firstPauseMs; this.waiting.size > 0;) {
      const results = await Promise.all(this.next().map((job) => this.tryAgain(job)));
      if (results.every(Boolean)) pauseMs = firstPauseMs;
      else {
        await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
    this.isRunning = false;
  }

  /** Rows first: a queue that is away must not keep them open. */
  private next(): Waiting[] {
    const all = [...this.waiting.values()];
    const open = all.filter(({ isClosed }) => !isClosed);
    return (open.length > 0 ? open : all).slice(0, atOnce);
  }

  /** False when nothing has come of it. */
  private async tryAgain(job: Waiting): Promise<boolean> {
    const { requestId, isClosed: wasClosed, isPublished: wasPublished } = job;
    // Of one that may never be written, nothing is in the queue either.
    const mayBeQueued = wasClosed || job.isDoubtful !== true;
    const [closing, telling] = await Promise.allSettled([
      wasClosed ? true : this.closeRow(requestId),
      mayBeQueued && !wasPublished ? this.stop(job) : undefined,
    ]);
    job.isClosed = closing.status === 'fulfilled';
    // What was told before the row was closed counts no more: a sweep may have brought the job back in between.
    job.isPublished = telling.status === 'fulfilled' && (wasPublished ? wasClosed || !job.isClosed : mayBeQueued);
    this.waiting.delete(requestId);
    if (closing.status === 'fulfilled' && !closing.value && job.isDoubtful === true) this.recheck(job);
    else if (job.isClosed && job.isPublished) return true;
    else if (this.clock.monotonicMs() >= job.untilMs) this.giveUp(job);
    // Behind the others, whose turn it is.
    else this.waiting.set(requestId, job);
    return job.isClosed && !wasClosed;
  }

  private recheck({ looks, ...job }: Waiting): void {
    const { pause = idle } = this.options;
    const pauseMs = recheckAfterMs[looks];
    if (pauseMs !== undefined) void pause(pauseMs).then(() => this.closeLater(job, looks + 1));
  }

  private giveUp({ requestId, isClosed }: Waiting): void {
    const { logger } = this.options;
    if (isClosed) logger.warn({ requestId }, 'a job that nobody wants could not be stopped: it may run for nothing');
    else logger.error({ requestId }, 'a row that nobody wants is left to the sweep');
  }

  /** Takes the job out of the queue, and has every worker drop it that has it or will get it. */
  private async stop({ requestId, modality, modelId }: AbandonedAdmission): Promise<void> {
    const { producer, cancelBus } = this.options.transport;
    const results = await Promise.allSettled([
      cancelBus.cancel(requestId),
      producer.remove(modality, modelId, requestId),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Whichever attempt it is by now. Resolves to whether there is such a row; of no effect when there is none. */
  private async closeRow(requestId: string): Promise<boolean> {
    const { jobs, closer } = this.options;
    const state = { state: 'failed', errorCode: 'SERVICE_UNAVAILABLE', usage: null, executionMs: 0 } as const;
    if ((await closer.close({ requestId, ...state, attempt: 1 })) !== null) return true;
    let row = await jobs.find(requestId);
    for (; row !== null && isOpen(row.state); row = await jobs.find(requestId)) {
      await closer.close({ requestId, ...state, attempt: row.attempt });
    }
    return row !== null;
  }
}

function isOpen(state: string): boolean {
  return state === 'queued' || state === 'running';
}
