import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '#common';
import type { Logger } from '#platform/logging';
import type { QueueTransport } from '#queue';
import type { JobCloser } from './job-closer.js';
import type { JobsRepository } from './jobs.repository.js';

/** A job whose caller was told that it was not taken. */
export interface UnwantedJob {
  requestId: string;
  modality: string;
  modelId: string;
  /** Ms from now after which the sweep has expired it. */
  deadlineMs: number;
  /** True when the server may still be committing the row: that there is none says nothing yet. */
  isDoubtful?: boolean;
}

export interface UnwantedJobsOptions {
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
const lookAgainAfterMs = [5_000, 10_000, 15_000, 30_000];

/** Rows closed at once, and rows kept in mind; more than these are left to the sweep. */
const atOnce = 64;
const mostWaiting = 20_000;

const idle = (milliseconds: number) => sleep(milliseconds, undefined, { ref: false });

interface Waiting extends UnwantedJob {
  untilMs: number;
  looks: number;
}

/**
 * Closes the rows of jobs whose callers heard `SERVICE_UNAVAILABLE` while nobody knew whether database or queue had taken
 * them. Such a row must not wait for the sweep, which would bring the job back and have the caller pay for an answer that
 * nobody awaits. Tries until the database answers; with this process, its memory of them is gone, and workers then refuse
 * what has no reader.
 */
export class UnwantedJobs {
  private readonly clock: Clock;
  private readonly waiting = new Map<string, Waiting>();
  private isRunning = false;

  constructor(private readonly options: UnwantedJobsOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /** Closes the row and removes the job, now if possible, else later; never rejects. */
  async close(job: UnwantedJob): Promise<void> {
    const { transport, logger } = this.options;
    const { requestId, modality, modelId } = job;
    const [closing] = await Promise.allSettled([
      this.closeRow(requestId),
      transport.producer.remove(modality, modelId, requestId),
    ]);
    if (closing.status === 'fulfilled') return;
    logger.warn({ requestId, error: closing.reason as unknown }, 'a row that nobody wants could not be closed yet');
    this.closeLater(job);
  }

  /** For a database that is away: returns at once. */
  closeLater(job: UnwantedJob, looks = 0): void {
    if (this.waiting.size >= mostWaiting) {
      this.options.logger.error({ requestId: job.requestId }, 'a row that nobody wants is left to the sweep');
      return;
    }
    this.waiting.set(job.requestId, { ...job, looks, untilMs: this.clock.monotonicMs() + job.deadlineMs });
    if (!this.isRunning) void this.run();
  }

  private async run(): Promise<void> {
    const { pause = idle } = this.options;
    this.isRunning = true;
    for (let pauseMs = firstPauseMs; this.waiting.size > 0;) {
      const results = await Promise.all([...this.waiting.values()].slice(0, atOnce).map((job) => this.tryAgain(job)));
      if (results.every(Boolean)) pauseMs = firstPauseMs;
      else {
        await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
    this.isRunning = false;
  }

  /** False when it must be tried again. */
  private async tryAgain({ looks, untilMs, ...job }: Waiting): Promise<boolean> {
    const { requestId } = job;
    try {
      if (!(await this.closeRow(requestId)) && job.isDoubtful === true) this.lookAgain(job, looks);
    } catch (error) {
      if (this.clock.monotonicMs() < untilMs) return false;
      this.options.logger.error({ requestId, error }, 'a row that nobody wants is left to the sweep');
    }
    return this.waiting.delete(requestId);
  }

  private lookAgain(job: UnwantedJob, looks: number): void {
    const { pause = idle } = this.options;
    const pauseMs = lookAgainAfterMs[looks];
    if (pauseMs !== undefined) void pause(pauseMs).then(() => this.closeLater(job, looks + 1));
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
