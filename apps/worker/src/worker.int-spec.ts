import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { forkHost, type HostLauncher } from '#inference/host';
import { MediaTools } from '#media';
import { createLogger } from '#platform/logging';
import { createTransport, type ReplyEvent, type JobResult, type Heartbeat, type QueueTransport } from '#queue';
import { createArtifactStore } from '#storage';
import { deterministicManifest, installDeterministicModel, removeDeterministicModel } from '#test/deterministic-model';
import { createTestDatabase } from '#test/postgres';
import { askChat } from '#test/queued-chat';
import { redisAvailable, startRedis } from '#test/redis';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { Worker } from './worker.js';

const fork = forkHost({ modulePath: sourcePath('test/harness/deterministic-host.ts'), execArgv: runSourceArguments });
/** A full machine cannot spawn a process. */
const machine = { isFull: false };
const launch: HostLauncher = (load) => {
  if (machine.isFull) throw new Error('no room for a process');
  return fork(load);
};
const logger = createLogger('worker', { level: 'silent' });

const stores: [name: string, open: () => Promise<{ url: string; close(): Promise<void> }>][] = [
  [
    'Postgres',
    async () => {
      const database = await createTestDatabase();
      return { url: database.url, close: () => database.drop() };
    },
  ],
];
if (redisAvailable) stores.push(['Redis', () => startRedis()]);

describe.each(stores)('a worker on %s', (_name, openStore) => {
  let store: { url: string; close(): Promise<void> };
  let home: string;
  let media: MediaTools;
  let api: QueueTransport;
  let workerTransport: QueueTransport;
  let worker: Worker;
  const results: JobResult[] = [];
  let requests = 0;

  beforeAll(async () => {
    store = await openStore();
    home = await mkdtemp(join(tmpdir(), 'sluice-worker-'));
    media = await MediaTools.find();
    const options = { url: store.url, namespace: 'worker_test' };
    api = await createTransport({ ...options, clientName: 'api' });
    await api.replies.start();
    await api.membership.join(() => ({
      processId: 'api-1',
      role: 'api',
      replyAddress: api.replies.address,
      models: [],
    }));
    await api.results.process(async (result) => void results.push(result));
    await installDeterministicModel(home, deterministicManifest('first'));
    workerTransport = await createTransport({ ...options, clientName: 'worker' });
    worker = newWorker();
    await worker.start();
    await reportedModels('first', 'ready');
  });

  afterAll(async () => {
    await worker.stop(0);
    await Promise.all([api.close(), workerTransport.close()]);
    await store.close();
    await rm(home, { recursive: true, force: true });
  });

  afterEach(() => {
    results.length = 0;
  });

  function newWorker(): Worker {
    return new Worker({
      home,
      models: ['test'],
      settings: { providers: ['cpu'] },
      transport: workerTransport,
      artifacts: createArtifactStore({ home }),
      media,
      launch,
      logger,
      scanEveryMs: 100,
      timings: { firstRestartMs: 20, maxRestartMs: 200 },
    });
  }

  /** Resolves when the heartbeat of the worker reports the model in this state, or (null) not at all. */
  function reportedModels(modelId: string, state: string | null): Promise<void> {
    const isReported = (heartbeats: Heartbeat[]) => {
      const model = heartbeats
        .flatMap((heartbeat) => heartbeat.models)
        .find((candidate) => candidate.modelId === modelId);
      return (model?.state ?? null) === state;
    };
    return new Promise((resolve) => {
      if (isReported(api.membership.list())) return resolve();
      const stop = api.membership.onChange((heartbeats) => {
        if (!isReported(heartbeats)) return;
        stop();
        resolve();
      });
    });
  }

  async function ask(modelId: string, content: string) {
    const requestId = `request-${++requests}`;
    const slot = await askChat(api, { requestId, modelId, content });
    return { requestId, events: slot[Symbol.asyncIterator](), close: () => slot.close() };
  }

  type Asked = Awaited<ReturnType<typeof ask>>;

  async function untilType({ events }: Asked, type: string): Promise<ReplyEvent[]> {
    const seen: ReplyEvent[] = [];
    for (;;) {
      const next = await events.next();
      if (next.done === true) throw new Error(`the reply stream ended without ${type}`);
      seen.push(next.value);
      if (next.value.type === type) return seen;
    }
  }

  async function resultOf(requestId: string): Promise<JobResult> {
    for (;;) {
      const found = results.find((result) => result.requestId === requestId);
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it('replies to a job through the reply stream and reports its usage', async () => {
    const asked = await ask('first', 'hello [[tokens=3]]');
    const events = await untilType(asked, 'job-finished');
    expect(events.map(({ type }) => type)).toEqual([
      'job-started',
      'prompt-ready',
      'text-delta',
      'text-delta',
      'text-delta',
      'choice-finished',
      'job-finished',
    ]);
    expect(await resultOf(asked.requestId)).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      usage: { promptTokens: 3, completionTokens: 3 },
    });
    asked.close();
  });

  it('stops a job that its client cancels, and reports what was generated', async () => {
    const asked = await ask('first', '[[tokens=100000 delay=5]]');
    await untilType(asked, 'text-delta');
    await api.cancelBus.cancel(asked.requestId);
    const result = await resultOf(asked.requestId);
    expect(result.status).toBe('cancelled');
    expect(result.usage?.completionTokens).toBeGreaterThan(0);
    asked.close();
  });

  it('fails the job of a host that died during it, and completes the next one', async () => {
    const asked = await ask('first', '[[tokens=100000 delay=5]]');
    await untilType(asked, 'text-delta');
    process.kill(worker.models[0]?.host.pid ?? 0, 'SIGKILL');
    const failed = (await untilType(asked, 'job-failed')).at(-1);
    expect(failed).toMatchObject({ error: { code: 'DEVICE_LOST' } });
    expect(await resultOf(asked.requestId)).toMatchObject({ status: 'failed', error: { code: 'DEVICE_LOST' } });
    const next = await ask('first', '[[tokens=2]]');
    await untilType(next, 'job-finished');
    asked.close();
    next.close();
  });

  it('serves a model installed at runtime until it is removed', async () => {
    await installDeterministicModel(home, deterministicManifest('second'));
    await reportedModels('second', 'ready');
    const asked = await ask('second', '[[tokens=2]]');
    await untilType(asked, 'job-finished');
    await removeDeterministicModel(home, 'second');
    await reportedModels('second', null);
    asked.close();
  });

  it('ignores models that are not selected or of another type', async () => {
    await installDeterministicModel(home, deterministicManifest('other', { sets: ['others'] }));
    await installDeterministicModel(home, deterministicManifest('third'));
    await reportedModels('third', 'ready');
    expect(worker.models.map((model) => model.id).sort()).toEqual(['first', 'third']);
    await removeDeterministicModel(home, 'other');
    await removeDeterministicModel(home, 'third');
    await reportedModels('third', null);
  });

  it('leaves jobs to other workers while its host cannot be started, and takes them when it is back', async () => {
    machine.isFull = true;
    process.kill(worker.models.find(({ id }) => id === 'first')?.host.pid ?? 0, 'SIGKILL');
    await reportedModels('first', 'loading');
    // The consumer may already have requested the next job.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const asked = await ask('first', '[[tokens=2]]');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await api.producer.counts('chat', 'first')).toMatchObject({ waiting: 1, active: 0 });
    machine.isFull = false;
    await untilType(asked, 'job-finished');
    await reportedModels('first', 'ready');
    asked.close();
  });

  it('lets running jobs finish on stop, requeues those that take too long, and stops its helpers last', async () => {
    const second = newWorker();
    await installDeterministicModel(home, deterministicManifest('first'));
    await installDeterministicModel(home, deterministicManifest('judge', { internal: true }));
    await worker.stop(0);
    await second.start();
    worker = second;
    await Promise.all([reportedModels('first', 'ready'), reportedModels('judge', 'ready')]);
    const changes: string[] = [];
    for (const { id, host } of worker.models) host.onChange(({ state }) => void changes.push(`${id} ${state}`));
    const [short, long] = await Promise.all([
      ask('first', '[[tokens=30 delay=10]]'),
      ask('first', '[[tokens=100000 delay=10]]'),
    ]);
    await Promise.all([untilType(short, 'text-delta'), untilType(long, 'text-delta')]);
    await worker.stop(2_000);
    expect(changes).toEqual(['first draining', 'first gone', 'judge draining', 'judge gone']);
    expect(await resultOf(short.requestId)).toMatchObject({ status: 'succeeded', usage: { completionTokens: 30 } });
    expect(await resultOf(long.requestId)).toMatchObject({ status: 'failed', error: { code: 'MODEL_AT_CAPACITY' } });
    expect(worker.models.every((model) => model.host.state === 'gone')).toBe(true);
    short.close();
    long.close();
  });
});
