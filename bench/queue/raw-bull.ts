import {
  createPostgresBackend,
  createRedisBackend,
  Queue,
  Worker,
  type BackendFactory,
  type IQueueBackend,
} from 'bullmq';
import { Redis } from 'ioredis';
import { benchPayload, workerConcurrency } from './bench-job.js';
import type { BenchQueue } from './load.js';
import { WorkerLink } from './worker-link.js';

/** Job events that the worker process reports. */
export interface WorkerEvents {
  onPickup(): void;
  onCompleted(): void;
}

type Factory = BackendFactory<IQueueBackend, Record<string, never>>;

interface Backend {
  factory: Factory;
  close(): void;
}

const name = 'bench';

/**
 * BullMQ as in its manual: a queue here, a worker in another process, and jobs removed on completion. No caller waits
 * for a reply; the worker's own count ends the run.
 */
export async function openRawBull(url: string, namespace: string): Promise<BenchQueue> {
  const { factory, close } = backend(url, namespace);
  const queue = new Queue(name, { connection: {}, prefix: namespace }, factory);
  await queue.waitUntilReady();
  const worker = await WorkerLink.start('raw', url, namespace);
  return {
    expect: (jobs) => worker.expect(jobs),
    add: async (requestId) => {
      const options = { jobId: requestId, removeOnComplete: true, removeOnFail: true };
      await queue.add(name, benchPayload(), options);
    },
    close: async () => {
      await worker.close();
      await queue.close();
      close();
    },
  };
}

/** The worker process. */
export async function openRawWorker(
  url: string,
  namespace: string,
  events: WorkerEvents,
): Promise<{ close(): Promise<void> }> {
  const { factory, close } = backend(url, namespace);
  const worker = new Worker(
    name,
    async () => events.onPickup(),
    { connection: {}, prefix: namespace, concurrency: workerConcurrency },
    factory,
  );
  worker.on('error', () => undefined);
  worker.on('completed', () => events.onCompleted());
  await worker.waitUntilReady();
  return {
    close: async () => {
      await worker.close();
      close();
    },
  };
}

function backend(url: string, namespace: string): Backend {
  if (!url.startsWith('redis')) {
    const connection = { connectionString: url, schema: namespace, migrate: true };
    const onPostgres: Factory = (queueName, options, more) =>
      createPostgresBackend(queueName, { ...options, connection }, more);
    return { factory: onPostgres, close: () => undefined };
  }
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const onRedis: Factory = (queueName, options, more) =>
    createRedisBackend(queueName, { ...options, connection }, more);
  return { factory: onRedis, close: () => connection.disconnect() };
}
