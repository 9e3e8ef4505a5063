import {
  type IQueueBackend,
  type Job,
  type JobJson,
  type JobProgress,
  Queue,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import { storeCall, storeUnavailable } from './store-call.js';
import type { Store, StoreConnection } from './store.js';

/** BullMQ's classes over either store. */
export type BullQueue<Data> = Queue<Data, void, string, Data, void, string, IQueueBackend, StoreConnection>;
export type BullJob<Data> = Job<Data, void, string>;
type BaseWorker<Data> = Worker<Data, void, string, IQueueBackend, JobProgress, StoreConnection>;
type BullWorkerOptions = Omit<WorkerOptions<StoreConnection>, 'connection' | 'prefix'>;
type Warn = (message: string, error: unknown) => void;

// BullMQ's own event stream is not used (its Postgres form loses events), so it is kept as short as it goes.
const eventStreamLength = 64;

/** The queues a process writes to, each opened at first use. */
export class BullQueues {
  private readonly queues = new Map<string, BullQueue<unknown>>();

  constructor(
    private readonly store: Store,
    private readonly warn: Warn,
  ) {}

  /** Runs one operation on a queue; rejects with SERVICE_UNAVAILABLE at once while the store is known to be away. */
  async call<Data, T>(name: string, operation: (queue: BullQueue<Data>) => Promise<T>, timeoutMs?: number): Promise<T> {
    if (!this.store.isReachable()) throw storeUnavailable();
    // The name decides the type of the data: each name is used by one class only.
    const queue = this.queue(name) as unknown as BullQueue<Data>;
    return storeCall(() => operation(queue), timeoutMs);
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

  /** True for a job that was taken from silent workers more often than its policy allows. */
  static wasGivenUp(job: object): boolean {
    return BullWorker.given.has(job);
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
): BaseWorker<Data> {
  const worker = new BullWorker<Data>(
    name,
    (job, token) => process(job, token ?? ''),
    { ...options, connection: {}, prefix: store.prefix, runRetryDelay: 1_000 },
    store.backendFactory,
  );
  worker.on('error', (error) => warn(`Worker of ${name} reported an error.`, error));
  return worker;
}
