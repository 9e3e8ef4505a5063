import {
  type IQueueBackend,
  type Job,
  type JobJson,
  type JobProgress,
  Queue,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import type { Store, StoreConnection } from './store.js';

/** BullMQ's classes over either store. */
export type BullQueue<Data> = Queue<Data, void, string, Data, void, string, IQueueBackend, StoreConnection>;
export type BullJob<Data> = Job<Data, void, string>;
type BaseWorker<Data> = Worker<Data, void, string, IQueueBackend, JobProgress, StoreConnection>;
type BullWorkerOptions = Omit<WorkerOptions<StoreConnection>, 'connection' | 'prefix'>;
type Warn = (message: string, error: unknown) => void;

// BullMQ's own event stream is not used (its Postgres form loses events), so it is kept as short as it goes.
const eventStreamLength = 64;

export function openQueue<Data>(store: Store, name: string, warn: Warn): BullQueue<Data> {
  const queue: BullQueue<Data> = new Queue(
    name,
    { connection: {}, prefix: store.prefix, streams: { events: { maxLen: eventStreamLength } } },
    store.backendFactory,
  );
  queue.on('error', (error) => warn(`Queue ${name} reported an error.`, error));
  return queue;
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
