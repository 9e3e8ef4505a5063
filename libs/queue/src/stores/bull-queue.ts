import {
  type IQueueBackend,
  type Job,
  type JobJson,
  type JobProgress,
  type Processor,
  type Queue as BullMQQueue,
  type WorkerOptions,
} from 'bullmq';
import { Queue, Worker } from '../connections/bull-library.js';
import { StoreActivity, storeCall, storeUnavailable } from '../contract/store-call.js';
import type { AppendedJob, Store, StoreConnection } from '../contract/store.js';
import type { FairPlace, FairTurn } from '../contract/fair-turn.js';

/** BullMQ's classes over either store. */
export type BullQueue<Data> = BullMQQueue<Data, void, string, Data, void, string, IQueueBackend, StoreConnection>;
export type BullJob<Data> = Job<Data, void, string>;
type BullWorkerOptions = Omit<WorkerOptions<StoreConnection>, 'connection' | 'prefix'>;
type Warn = (message: string, error: unknown) => void;

// BullMQ's own event stream is not used (its Postgres form loses events), so it is kept as short as possible.
const eventStreamLength = 64;

/** The queues to which a process writes, each opened at first use. */
export class BullQueues {
  private readonly queues = new Map<string, BullQueue<unknown>>();
  /** Counts the operations that failed, or were not tried because the store was unavailable. */
  failedCalls = 0;
  private readonly activity = new StoreActivity();

  constructor(
    private readonly store: Store,
    private readonly warn: Warn,
  ) {}

  /**
   * Runs one operation on a queue; rejects with SERVICE_UNAVAILABLE at once while the store is known to be unavailable.
   */
  async call<Data, T>(name: string, operation: (queue: BullQueue<Data>) => Promise<T>, timeoutMs?: number): Promise<T> {
    // The name determines the type of the data: each name is used by one class only.
    return await this.counted(() => operation(this.queue(name) as unknown as BullQueue<Data>), timeoutMs);
  }

  /** Adds a job with an id of its own to a queue that this process may not be allowed to read; rejects as `call` does. */
  async append(name: string, job: AppendedJob): Promise<void> {
    const { append } = this.store;
    if (append !== null) return await this.counted(() => append(name, job));
    const { id: jobId, name: jobName, data, opts } = job;
    await this.call(name, (queue: BullQueue<object>) => queue.add(jobName, data, { ...opts, jobId }));
  }

  /** Works like `Store.assignPlaces`; rejects as `call` does. */
  assignPlaces(name: string, turns: readonly FairTurn[]): Promise<FairPlace[]> {
    return this.counted(() => this.store.assignPlaces(name, turns));
  }

  countAhead(name: string, account: string): Promise<number> {
    return this.counted(() => this.store.countAhead(name, account));
  }

  private async counted<T>(operation: () => Promise<T>, timeoutMs?: number): Promise<T> {
    try {
      if (!this.store.isReachable()) throw storeUnavailable();
      return await storeCall(operation, timeoutMs, this.activity);
    } catch (error) {
      this.failedCalls += 1;
      throw error;
    }
  }

  /** Works like `Store.requireRoom`. */
  requireRoom(): void {
    this.store.requireRoom();
  }

  /** Works like `Store.release`; rejects as `call` does. */
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
    // A queue whose first contact with the store failed would fail forever, so the next use opens another.
    queue.waitUntilReady().catch(() => {
      if (this.queues.get(name) === queue) this.queues.delete(name);
    });
    return queue;
  }
}

interface ClaimedJob<Data> {
  readonly job: Job<Data, void, string>;
  readonly token: string;
}

/**
 * A worker whose processor also gets the jobs that BullMQ would fail by itself because their worker fell silent too
 * often: every ending must report its result before the job leaves the queue.
 */
export class BullWorker<Data> extends Worker<Data, void, string, IQueueBackend, JobProgress, StoreConnection> {
  private static readonly givenUp = new WeakSet<object>();

  constructor(
    name: string,
    processor: Processor<Data>,
    options: WorkerOptions<StoreConnection>,
    private readonly store: Store,
  ) {
    super(name, processor, options, store.backendFactory);
  }

  /** A store that is out of memory refuses even to renew a lock. Running jobs must not be lost because of that. */
  override async extendJobLocks(jobIds: string[], tokens: string[], lockMs: number): Promise<string[]> {
    try {
      return await super.extendJobLocks(jobIds, tokens, lockMs);
    } catch (error) {
      const lost = await this.store.keepLocks(this.name, { jobIds, tokens, lockMs }, error);
      if (lost === null) throw error;
      return lost;
    }
  }

  /** True for a job that was taken from silent workers more often than its policy allows. */
  static wasGivenUp(job: object): boolean {
    return BullWorker.givenUp.has(job);
  }

  private readonly claimedJobs = new WeakSet<object>();
  /** Claims in progress: each settles when its job has left the queue, or none came. */
  private readonly claimed = new Set<Promise<void>>();
  private claimCount = 0;
  /** Counts the jobs from the main loop whose handler is running. */
  private loopJobs = 0;
  private isStopping = false;

  /** True while `claim` can fetch jobs. */
  get isTaking(): boolean {
    return this.isRunning() && !this.isPaused() && !this.isStopping && this.closing === undefined;
  }

  /**
   * Claims a delayed job, and runs the job that it gets like one of the main loop's: the two share the concurrency, the
   * lock is renewed, and `close` waits for it. Resolves once it is known whether a job came. That may be another job,
   * which waited first.
   */
  async claim(jobId: string): Promise<boolean> {
    if (!this.isTaking) return false;
    const fetching = this.fetchClaimed(jobId);
    const ended = this.runClaimed(fetching).finally(() => this.claimEnded(ended));
    this.claimed.add(ended);
    this.shareConcurrency();
    return (await fetching) !== null;
  }

  private async fetchClaimed(jobId: string): Promise<ClaimedJob<Data> | null> {
    const token = `${this.id}:claim:${(this.claimCount += 1)}`;
    const fetched = await this.store.claim(this, { jobId, token });
    const job = fetched === null ? undefined : await this.nextJobFromJobData(fetched.data, fetched.id, token);
    return job === undefined ? null : { job, token };
  }

  /**
   * Waits for claimed jobs first: BullMQ waits only for the jobs of its main loop, and would then renew no lock of the
   * claimed ones.
   */
  override async close(force = false): Promise<void> {
    this.isStopping = true;
    if (!force && this.claimed.size > 0) {
      await Promise.all([this.pause().catch(() => undefined), this.claimsEnded()]);
    }
    await super.close(force);
  }

  /** Never rejects. */
  private async runClaimed(fetching: Promise<ClaimedJob<Data> | null>): Promise<void> {
    const claimed = await fetching.catch(() => null);
    if (claimed === null) return;
    this.claimedJobs.add(claimed.job);
    try {
      await this.processJob(claimed.job, claimed.token, () => false);
    } catch (error) {
      this.emit('error', error instanceof Error ? error : new Error(String(error)));
    }
  }

  private claimEnded(ended: Promise<void>): void {
    this.claimed.delete(ended);
    const wasFull = this.loopJobs >= this.concurrency;
    this.shareConcurrency();
    // A main loop that was full sleeps until a job of its own ends. `resume` wakes it, if it is paused.
    if (wasFull && this.isTaking) void this.pause(true).then(() => this.resume());
  }

  private async claimsEnded(): Promise<void> {
    while (this.claimed.size > 0) await Promise.all(this.claimed);
  }

  /**
   * Gives the main loop the concurrency that the claimed jobs leave. It cannot be less than 1, so a full worker pauses.
   */
  private shareConcurrency(): void {
    const left = (this.opts.concurrency ?? 1) - this.claimed.size;
    this.concurrency = Math.max(1, left);
    if (left < 1) void this.pause(true);
    else if (this.isPaused() && !this.isStopping) void this.resume();
  }

  protected override async callProcessJob(
    job: Job<Data, void, string>,
    token: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const ofLoop = this.claimedJobs.has(job) ? 0 : 1;
    this.loopJobs += ofLoop;
    try {
      await super.callProcessJob(job, token, signal);
    } finally {
      this.loopJobs -= ofLoop;
    }
  }

  protected override createJob(data: JobJson, jobId: string): Job<Data, void, string> {
    const job = super.createJob(data, jobId);
    if (job.deferredFailure) {
      BullWorker.givenUp.add(job);
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
