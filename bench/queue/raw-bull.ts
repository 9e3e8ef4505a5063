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

/** BullMQ as its manual shows it: a queue and a worker, jobs removed at their end, nothing of ours. */
export async function openRawBull(url: string, namespace: string): Promise<BenchQueue> {
  return url.startsWith('redis') ? onRedis(url, namespace) : onPostgres(url, namespace);
}

async function onRedis(url: string, prefix: string): Promise<BenchQueue> {
  const forQueue = new Redis(url, { maxRetriesPerRequest: null });
  const forWorker = new Redis(url, { maxRetriesPerRequest: null });
  const factory: Factory = (name, options, factoryOptions) =>
    createRedisBackend(
      name,
      { ...options, connection: factoryOptions?.withBlockingConnection ? forWorker : forQueue },
      factoryOptions,
    );
  return open(factory, prefix, async () => {
    forQueue.disconnect();
    forWorker.disconnect();
  });
}

async function onPostgres(url: string, schema: string): Promise<BenchQueue> {
  const connection = { connectionString: url, schema, migrate: true };
  const factory: Factory = (name, options, factoryOptions) =>
    createPostgresBackend(name, { ...options, connection }, factoryOptions);
  return open(factory, schema, async () => undefined);
}

type Factory = BackendFactory<IQueueBackend, Record<string, never>>;

async function open(factory: Factory, prefix: string, closeConnections: () => Promise<void>): Promise<BenchQueue> {
  const name = 'bench';
  const queue = new Queue(name, { connection: {}, prefix }, factory);
  await queue.waitUntilReady();
  const worker = new Worker(
    name,
    async (job) => {
      opened.onPickup(job.id ?? '');
    },
    { connection: {}, prefix, concurrency: workerConcurrency },
    factory,
  );
  worker.on('error', () => undefined);
  worker.on('completed', (job) => opened.onDone(job.id ?? ''));
  await worker.waitUntilReady();
  const opened: BenchQueue = {
    onPickup: () => undefined,
    onDone: () => undefined,
    add: async (requestId) => {
      const options = { jobId: requestId, removeOnComplete: true, removeOnFail: true };
      await queue.add('bench', benchPayload(), options);
    },
    close: async () => {
      await worker.close();
      await queue.close();
      await closeConnections();
    },
  };
  return opened;
}
