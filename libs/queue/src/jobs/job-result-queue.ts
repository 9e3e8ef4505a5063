import { randomUUID } from 'node:crypto';
import { jobResultQueueName } from '../contract/job-definition.js';
import { type BullJob, type BullQueues, openWorker } from '../stores/bull-queue.js';
import { settlesWithin } from '../contract/store-call.js';
import type { Store } from '../contract/store.js';
import type { JobResult, JobResultQueue, PendingResults } from '../contract/transport.js';

/** The most results per job of the queue. */
const resultsPerJob = 100;

/** The most jobs of each state that a check names. */
const idsPerPage = 1_000;

/**
 * How many reports run at once. Results need no order and must not wait for a slow report; fewer reports are larger and
 * cost less.
 */
const writesAtOnce = 2;

/** Unlimited attempts: the largest count that Postgres can store. */
const unlimitedAttempts = 2 ** 31 - 1;

/** First and longest wait before a result is retried, in ms. */
const firstRetryMs = 500;
const longestRetryMs = 15_000;

/** How long a process may be blocked before another one takes over its results, in ms. */
const defaultLockMs = 10_000;

/** How long handlers may take to end when the process stops, in ms. */
const finalHandlersMs = 5_000;

/** How many jobs of results one process handles at once. */
const concurrency = 8;

export interface JobResultBatch {
  results: JobResult[];
}

interface Waiting {
  result: JobResult;
  resolve(): void;
  reject(error: unknown): void;
}

export interface BullResultQueueOptions {
  warn: (message: string, error: unknown) => void;
  /** Default: 10 s. */
  lockMs?: number;
}

/**
 * Results as jobs of one durable queue. Results that are reported while another report is in progress share the next
 * job, like a database's group commit: many jobs that end together cost one write.
 */
export class BullResultQueue implements JobResultQueue {
  private readonly workers = new Set<{ close(): Promise<void> }>();
  private waiting: Waiting[] = [];
  private writing = 0;

  constructor(
    private readonly store: Store,
    private readonly queues: BullQueues,
    private readonly options: BullResultQueueOptions,
  ) {}

  report(result: JobResult): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ result, resolve, reject });
      if (this.writing < writesAtOnce) void this.write();
    });
  }

  async pending(): Promise<PendingResults> {
    return this.queues.call(jobResultQueueName, async (queue) => {
      // Postgres reads one state after the other. In this order no moving job is missed.
      const states = ['active', 'delayed', 'wait', 'active'] as const;
      const ids = await queue.backend.getRanges([...states], 0, idsPerPage - 1, true);
      const [active = [], postponed = [], waiting = [], activeSince = []] = ids;
      return { postponed, underWay: [...new Set([...active, ...waiting, ...activeSince])] };
    });
  }

  async process(handler: (result: JobResult) => Promise<void>): Promise<{ close(): Promise<void> }> {
    const { warn, lockMs = defaultLockMs } = this.options;
    const worker = openWorker<JobResultBatch>(
      this.store,
      jobResultQueueName,
      (job) => handleBatch(job, handler),
      jobResultWorkerOptions(lockMs),
      warn,
    );
    await worker.waitUntilReady();
    this.workers.add(worker);
    return { close: () => worker.close() };
  }

  async close(): Promise<void> {
    // A handler that does not end loses nothing: its results stay in the queue and are taken by another process.
    await settlesWithin(Promise.all([...this.workers].map((worker) => worker.close())), finalHandlersMs);
  }

  private async write(): Promise<void> {
    this.writing += 1;
    // Wait for one turn of the event loop, so that results of jobs that end together are written together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, resultsPerJob);
      try {
        await this.add({ results: batch.map(({ result }) => result) });
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.writing -= 1;
  }

  private async add(batch: JobResultBatch): Promise<void> {
    // Numbered names could be guessed, and the batches of others overwritten.
    await this.queues.append(jobResultQueueName, {
      id: randomUUID(),
      name: 'job-results',
      data: batch,
      opts: jobOptions,
    });
  }
}

const jobOptions = {
  attempts: unlimitedAttempts,
  backoff: { type: 'job-results' },
  removeOnComplete: true,
  removeOnFail: false,
  stackTraceLimit: 0,
};

/** Options of every worker of this queue. */
export function jobResultWorkerOptions(lockMs = defaultLockMs) {
  return {
    concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs / 4,
    maxStalledCount: unlimitedAttempts,
    settings,
  };
}

const settings = {
  backoffStrategy: (attempt: number) => Math.min(firstRetryMs * 2 ** Math.min(attempt - 1, 10), longestRetryMs),
};

/**
 * Runs the handler for each result. Rejected results stay in the job, which is retried. Data that is not a batch, and
 * that no process of Sluice writes, is passed on as one result, so that the handler refuses it.
 */
export async function handleBatch(
  job: BullJob<JobResultBatch>,
  handler: (result: JobResult) => Promise<void>,
): Promise<void> {
  const results = resultsOf(job.data);
  const settled = await Promise.allSettled(results.map((result) => handler(result)));
  const rejected = results.filter((_result, index) => settled[index]?.status === 'rejected');
  if (rejected.length === 0) return;
  if (rejected.length < results.length) await job.updateData({ results: rejected });
  // The handler's own message may name hosts or rows; the queue stores only how many are left.
  throw new Error(`${rejected.length} job results could not be processed`);
}

function resultsOf(data: unknown): JobResult[] {
  const results = (data as Partial<JobResultBatch> | null)?.results;
  return Array.isArray(results) ? results : [data as JobResult];
}
