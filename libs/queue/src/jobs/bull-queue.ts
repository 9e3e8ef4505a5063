import {
  type IQueueBackend,
  type Job,
  type JobJson,
  type JobProgress,
  type Processor,
  type Queue as BullMQQueue,
  type WorkerOptions,
} from 'bullmq';
import { Queue, Worker } from '../backends/bull-library.js';
import { retryUntilReady, pause, storeCall, storeUnavailable } from '../backends/store-call.js';
import type { Store, StoreConnection } from '../backends/store.js';

/** BullMQ's classes over either store. */
export type BullQueue<Data> = BullMQQueue<Data, void, string, Data, void, string, IQueueBackend, StoreConnection>;
export type BullJob<Data> = Job<Data, void, string>;
type BullWorkerOptions = Omit<WorkerOptions<StoreConnection>, 'connection' | 'prefix'>;
type Warn = (message: string, error: unknown) => void;

// BullMQ's own event stream is not used (its Postgres form loses events), so it is kept as short as it goes.
const eventStreamLength = 64;

/** Ms between two looks whether a loop has begun. */
const loopCheckMs = 5;

/** The queues a process writes to, each opened at first use. */
export class BullQueues {
  private readonly queues = new Map<string, BullQueue<unknown>>();
  /** Operations that failed, or were not tried because the store is away. */
  failedCalls = 0;

  constructor(
    private readonly store: Store,
    private readonly warn: Warn,
  ) {}

  /** Runs one operation on a queue; rejects with SERVICE_UNAVAILABLE at once while the store is known to be away. */
  async call<Data, T>(name: string, operation: (queue: BullQueue<Data>) => Promise<T>, timeoutMs?: number): Promise<T> {
    try {
      if (!this.store.isReachable()) throw storeUnavailable();
      // The name decides the type of the data: each name is used by one class only.
      const queue = this.queue(name) as unknown as BullQueue<Data>;
      return await storeCall(() => operation(queue), timeoutMs);
    } catch (error) {
      this.failedCalls += 1;
      throw error;
    }
  }

  /** As that of the store. */
  requireRoom(): void {
    this.store.requireRoom();
  }

  /** As `Store.letGo`; rejects as `call` does. */
  async release(name: string, jobId: string): Promise<boolean> {
    return await this.call(name, (queue) => this.store.release(queue, jobId));
  }

  async close(): Promise<void> {
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private queue(name: string): BullQueue<unknown> {
    const known = this.queues.get(name);
    if (known !== undefined) return known;
    const queue: BullQueue<unknown> = new Queue(
      name,
      { connection: {}, prefix: this.store.prefix, streams: { events: { maxLen: eventStreamLength } } },
      this.store.backendFactory,
    );
    queue.on('error', (error) => this.warn(`Queue ${name} reported an error.`, error));
    this.queues.set(name, queue);
    // A queue whose first contact with the store failed would fail for ever: the next use opens another.
    queue.waitUntilReady().catch(() => {
      if (this.queues.get(name) === queue) this.queues.delete(name);
    });
    return queue;
  }
}

/**
 * A worker whose processor also gets the jobs that BullMQ would fail by itself because their worker fell silent too
 * often: every ending must report its outcome before the job leaves the queue.
 */
export class BullWorker<Data> extends Worker<Data, void, string, IQueueBackend, JobProgress, StoreConnection> {
  private static readonly given = new WeakSet<object>();

  constructor(
    name: string,
    processor: Processor<Data>,
    options: WorkerOptions<StoreConnection>,
    private readonly store: Store,
  ) {
    super(name, processor, options, store.backendFactory);
  }

  /** A store without room refuses even to renew a lock; what runs must not be lost for that. */
  override async extendJobLocks(jobIds: string[], tokens: string[], lockMs: number): Promise<string[]> {
    try {
      return await super.extendJobLocks(jobIds, tokens, lockMs);
    } catch (error) {
      const kept = await this.store.keepLocks(this.name, { jobIds, tokens, lockMs }, error);
      if (kept === null) throw error;
      return kept;
    }
  }

  /** True for a job that was taken from silent workers more often than its policy allows. */
  static wasGivenUp(job: object): boolean {
    return BullWorker.given.has(job);
  }

  private static readonly claimed = new WeakSet<object>();
  private claims = 0;

  /** True for a job that came by `claim`. */
  static wasClaimed(job: object): boolean {
    return BullWorker.claimed.has(job);
  }

  /** Whether `claim` can take anything: the loop runs. */
  get isTaking(): boolean {
    return this.jobsOfLoop() !== null && this.closing === undefined;
  }

  /** Resolves when the loop runs, or after `patienceMs`: it begins when BullMQ has looked for jobs of silent workers. */
  async untilTaking(patienceMs: number): Promise<void> {
    for (let waitedMs = 0; waitedMs < patienceMs && !this.isTaking; waitedMs += loopCheckMs) await pause(loopCheckMs);
  }

  /**
   * Claims a delayed job by `take`, and runs it beside those that the loop takes, as one of them: it counts in the loop's
   * concurrency, its lock is renewed, and `close` waits for it. Resolves once it is known whether it was claimed; false
   * also when the worker closes.
   */
  claim(jobId: string, take: (token: string) => Promise<boolean>): Promise<boolean> {
    const loop = this.jobsOfLoop();
    if (loop === null || this.closing !== undefined) return Promise.resolve(false);
    return new Promise((resolve) => loop.add(this.runClaimed(jobId, take, resolve)));
  }

  /** Never rejects, and resolves with nothing: the loop must not take it for a job that it fetched. */
  private async runClaimed(
    jobId: string,
    take: (token: string) => Promise<boolean>,
    told: (claimed: boolean) => void,
  ): Promise<void> {
    const token = `${this.id}:claim:${(this.claims += 1)}`;
    try {
      const data = (await retryUntilReady(() => take(token)))
        ? await retryUntilReady(() => this.backend.getJobData(jobId))
        : undefined;
      told(data !== undefined);
      if (data === undefined) return;
      const job = this.createJob(data, jobId);
      job.token = token;
      BullWorker.claimed.add(job);
      await this.processJob(job, token, () => false);
    } catch (error) {
      told(false);
      this.emit('error', error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** BullMQ's own list of what its loop waits for, which it keeps to itself. */
  private jobsOfLoop(): { add(promise: Promise<void>): void } | null {
    return (this as unknown as { mainLoopQueue: { add(promise: Promise<void>): void } | null }).mainLoopQueue;
  }

  protected override createJob(data: JobJson, jobId: string): Job<Data, void, string> {
    const job = super.createJob(data, jobId);
    if (job.deferredFailure) {
      BullWorker.given.add(job);
      job.deferredFailure = '';
    }
    return job;
  }
}

export function openWorker<Data>(
  store: Store,
  name: string,
  process: (job: BullJob<Data>, token: string) => Promise<void>,
  options: BullWorkerOptions,
  warn: Warn,
): BullWorker<Data> {
  const worker = new BullWorker<Data>(
    name,
    (job, token) => process(job, token ?? ''),
    { ...options, connection: {}, prefix: store.prefix, runRetryDelay: 1_000 },
    store,
  );
  worker.on('error', (error) => warn(`Worker of ${name} reported an error.`, error));
  return worker;
}
