import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { forkHost, type HostLauncher } from '#inference/host';
import { MediaTools } from '#media';
import { createLogger } from '#platform/logging';
import { createTransport, type ReplyEvent, type Placement, type Heartbeat, type QueueTransport } from '#queue';
import { poolKeys } from '#queue/pools';
import { createArtifactStore } from '#storage';
import { deterministicManifest, installDeterministicModel } from '#test/deterministic-model';
import { FakeGraphicsMemory, FakeMachineMemory } from '#test/fake-machine-memory';
import { createTestDatabase, type TestDatabase } from '#test/postgres';
import { askChat } from '#test/queued-chat';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { installTinyModel } from '#test/tiny-models';
import { Worker, type WorkerOptions } from '../worker.js';
import { LocalMachineMemory } from './machine-memory.js';

const launcherOf = (source: string): HostLauncher =>
  forkHost({ modulePath: sourcePath(source), execArgv: runSourceArguments });
const deterministicHosts = launcherOf('test/harness/deterministic-host.ts');
const realHosts = launcherOf('libs/inference/src/host/model-host.main.ts');
const logger = createLogger('worker', { level: 'silent' });
const residencyMs = 200;

let database: TestDatabase;
let media: MediaTools;
let home: string;
let api: QueueTransport;
let transport: QueueTransport;
let worker: Worker | null = null;
let revision = 0;
let requests = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  media = await MediaTools.find();
});
afterAll(() => database.drop());

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-residency-'));
  const options = { url: database.url, namespace: `residency_${++requests}` };
  api = await createTransport({ ...options, clientName: 'api' });
  await api.replies.start();
  const { address } = api.replies;
  await api.membership.join(() => ({ processId: 'api-1', role: 'api', replyAddress: address, models: [] }));
  transport = await createTransport({ ...options, clientName: 'worker' });
});
afterEach(async () => {
  await worker?.stop(0);
  worker = null;
  await Promise.all([api.close(), transport.close()]);
  await rm(home, { recursive: true, force: true });
});

async function startWorker(overrides: Partial<WorkerOptions>): Promise<Worker> {
  worker = new Worker({
    home,
    models: ['test'],
    settings: { providers: ['cpu'], threads: 1 },
    transport,
    artifacts: createArtifactStore({ home }),
    media,
    launch: deterministicHosts,
    logger,
    scanEveryMs: 50,
    residencyMs,
    ...overrides,
  });
  await worker.start();
  return worker;
}

function machineOf(cpuBytes: number, sizes: Record<string, number>): FakeMachineMemory {
  const machine = new FakeMachineMemory(cpuBytes);
  for (const [id, bytes] of Object.entries(sizes)) machine.sizes.set(id, bytes);
  return machine;
}

async function install(...ids: string[]): Promise<void> {
  for (const id of ids) await installDeterministicModel(home, deterministicManifest(id));
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves when the heartbeat of the worker has this state. */
async function untilHeartbeat(holds: (heartbeat: Heartbeat) => boolean): Promise<Heartbeat> {
  for (;;) {
    const heartbeat = api.membership.list().find(({ processId }) => processId === worker?.processId);
    if (heartbeat !== undefined && holds(heartbeat)) return heartbeat;
    await pause(10);
  }
}

const stateOf = (heartbeat: Heartbeat, modelId: string) =>
  heartbeat.models.find((held) => held.modelId === modelId)?.state;
const causeOf = (heartbeat: Heartbeat, modelId: string) =>
  heartbeat.worker?.withoutReplica.find((withoutReplica) => withoutReplica.modelId === modelId)?.cause;
const held = (modelId: string) => untilHeartbeat((heartbeat) => stateOf(heartbeat, modelId) === 'ready');
const untilUnloaded = (modelId: string) => untilHeartbeat((heartbeat) => stateOf(heartbeat, modelId) === undefined);

/** A client that retries until the model is loaded. */
async function requestUntilLoaded(modelId: string): Promise<void> {
  const timer = setInterval(() => api.placements.reportUnserved(modelId), 100);
  await held(modelId);
  clearInterval(timer);
}

async function tell(...placements: Partial<Placement>[]): Promise<void> {
  const whole = { modelId: '', pool: 'text', pinned: false, replicas: null };
  const desired = { revision: ++revision, placements: placements.map((placement) => ({ ...whole, ...placement })) };
  await api.placements.announce(desired);
}

/** Reads a stream of the model like a client. */
async function ask(modelId: string, content: string) {
  const slot = await askChat(api, { requestId: `request-${++requests}`, modelId, content, maxTokens: 400 });
  const events = slot[Symbol.asyncIterator]();
  const until = async (type: string): Promise<ReplyEvent> => {
    for (;;) {
      const next = await events.next();
      if (next.done === true) throw new Error(`the reply stream ended without ${type}`);
      if (next.value.type === type) return next.value;
      if (next.value.type === 'job-failed') return next.value;
    }
  };
  return { until, close: () => slot.close() };
}

describe('a worker with less memory than its models need', () => {
  it('refuses a model larger than the device, reports it, and serves the others', async () => {
    await install('huge', 'small');
    const { residency } = await startWorker({ machine: machineOf(100, { huge: 101, small: 50 }) });
    const heartbeat = await held('small');
    expect(causeOf(heartbeat, 'huge')).toBe('too-large');
    expect(residency.withoutReplica).toEqual([
      {
        modelId: 'huge',
        cause: 'too-large',
        reason:
          'huge is not loaded: it needs about 101 B on cpu, and all models of this worker together may take 100 B ' +
          '(SLUICE_MEMORY_BUDGET)',
      },
    ]);
    const asked = await ask('small', '[[tokens=2]]');
    expect(await asked.until('job-finished')).toMatchObject({ usage: { completionTokens: 2 } });
    asked.close();
  });

  it('evicts the least recently used model for a requested one, and back', async () => {
    await install('a', 'b', 'c');
    const { residency } = await startWorker({ machine: machineOf(100, { a: 50, b: 50, c: 50 }) });
    await held('a');
    expect(causeOf(await held('b'), 'c')).toBe('waiting');
    const asked = await ask('a', '[[tokens=1]]');
    await asked.until('job-finished');
    asked.close();
    // Waits until no model is new: new models are not evicted.
    await pause(2 * residencyMs);
    await requestUntilLoaded('c');
    expect(stateOf(await untilUnloaded('b'), 'a')).toBe('ready');
    await requestUntilLoaded('b');
    await untilUnloaded('a');
    expect(Object.fromEntries(residency.evictionCounts)).toEqual({ a: 1, b: 1 });
  });

  it('never evicts a model in flight or a pinned one', async () => {
    await install('a', 'b');
    await startWorker({ machine: machineOf(100, { a: 60, b: 60 }), pools: ['text'] });
    await held('a');
    const stream = await ask('a', '[[tokens=100 delay=10]]');
    await stream.until('text-delta');
    const requesting = requestUntilLoaded('b');
    expect(await stream.until('job-finished')).toMatchObject({ usage: { completionTokens: 100 } });
    stream.close();
    await requesting;
    await tell({ modelId: 'b', pinned: true });
    // The pin has arrived once the placement published with it has.
    await tell({ modelId: 'b', pinned: true }, { modelId: 'absent' });
    await untilHeartbeat((heartbeat) => causeOf(heartbeat, 'absent') === 'not-installed');
    for (let time = 0; time < 5; time++) {
      api.placements.reportUnserved('a');
      await pause(residencyMs);
    }
    expect(stateOf(await held('b'), 'a')).toBeUndefined();
  });

  it('makes room for a model with waiting jobs although no client requests it', async () => {
    await install('a', 'b');
    await startWorker({ machine: machineOf(100, { a: 60, b: 60 }) });
    expect(causeOf(await held('a'), 'b')).toBe('waiting');
    const left = await ask('b', '[[tokens=2]]');
    expect(await left.until('job-finished')).toMatchObject({ usage: { completionTokens: 2 } });
    left.close();
  });

  it('makes room for a model that is placed and pinned', async () => {
    await install('a', 'b');
    await startWorker({ models: ['a'], machine: machineOf(100, { a: 60, b: 60 }), pools: ['text'] });
    await held('a');
    await tell({ modelId: 'b', pinned: true });
    expect(stateOf(await untilUnloaded('a'), 'b')).not.toBe('draining');
    await held('b');
  });
});

describe('a worker of a pool', () => {
  it('requests its placements at start and follows every change', async () => {
    await install('a', 'b', 'c');
    const desired = {
      revision: ++revision,
      placements: [{ modelId: 'a', pool: 'text', pinned: false, replicas: null }],
    };
    api.placements.subscribe({ onAsk: () => void api.placements.announce(desired) });
    await startWorker({ models: ['c'], pools: ['text'] });
    const heartbeat = await held('a');
    expect(heartbeat.worker?.pools).toEqual(['text']);
    await held('c');
    await tell({ modelId: 'b' }, { modelId: 'a', pool: 'elsewhere' });
    await held('b');
    await untilUnloaded('a');
    await held('c');
  });

  it('does not load a model whose key it does not have, and says so once', async () => {
    const options = { url: database.url, namespace: `residency_${requests}`, clientName: 'keyed' };
    // Without the key of the bus it takes placements of an api that has no keys.
    const sealKeys = poolKeys(['ab'.repeat(32)], ['a', 'c']).filter((each) => !each.startsWith('@bus'));
    const keyed = await createTransport({ ...options, sealKeys, warn: () => undefined });
    const warn = vi.spyOn(logger, 'warn');
    try {
      await install('a', 'b', 'c', 'd');
      const started = await startWorker({ transport: keyed, models: ['a', 'd'], pools: ['text'] });
      await held('a');
      await tell({ modelId: 'b', replicas: 1 }, { modelId: 'b' }, { modelId: 'c' }, { modelId: 'absent' });
      await held('c');
      expect(started.models.map(({ id }) => id).sort()).toEqual(['a', 'c']);
      expect(started.withoutReplica).toEqual([]);
      const lines = warn.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('SLUICE_QUEUE_KEY'));
      expect(lines.map((line) => line.split(' ')[0] ?? '').sort()).toEqual(['absent', 'b', 'd']);
    } finally {
      warn.mockRestore();
      await worker?.stop(0);
      worker = null;
      await keyed.close();
    }
  });

  it('lets running streams finish when their model is removed from the pool', async () => {
    await install('a');
    await startWorker({ models: [], pools: ['text'] });
    await tell({ modelId: 'a' });
    await held('a');
    const stream = await ask('a', '[[tokens=60 delay=10]]');
    await stream.until('text-delta');
    await tell();
    await untilHeartbeat((heartbeat) => stateOf(heartbeat, 'a') === 'draining');
    expect(await stream.until('job-finished')).toMatchObject({ usage: { completionTokens: 60 } });
    stream.close();
    await untilUnloaded('a');
  });
});

describe('a starting worker', () => {
  /** Why it is not ready; null: it is. */
  const pending = () =>
    worker?.startup.check().then(
      () => null,
      ({ message }: Error) => message,
    );

  it('is ready when what it is to serve and has memory for was loaded once', async () => {
    await install('a', 'placed', 'huge', 'b');
    const machine = machineOf(100, { a: 50, placed: 40, huge: 101, b: 60 });
    await startWorker({ machine, pools: ['text'], models: ['a', 'huge', 'b'] });
    await held('a');
    expect(await pending()).toBe('the placements of its pools, which ops publishes, are not known yet.');
    await tell({ modelId: 'placed' }, { modelId: 'absent' });
    await held('placed');
    const absent = 'absent is not installed on this worker; run "sluice models pull absent" there.';
    await expect.poll(pending).toBe(absent);
    // One replica, which another worker may be.
    await tell({ modelId: 'placed' }, { modelId: 'absent', replicas: 1 });
    await expect.poll(pending).toBeNull();
    // A model that is placed later does not make it unready.
    await tell({ modelId: 'placed' }, { modelId: 'absent' }, { modelId: 'later' });
    await untilHeartbeat((heartbeat) => causeOf(heartbeat, 'later') === 'not-installed');
    expect(await pending()).toBeNull();
  });

  it('without models is ready', async () => {
    await startWorker({ models: [] });
    await expect.poll(pending).toBeNull();
  });
});

describe('a worker with real models', () => {
  it('measures them and loads as many as fit', async () => {
    await installTinyModel(home, { id: 'one' });
    const machine = (bytes: number) =>
      new LocalMachineMemory({
        settings: [{ device: 'cpu', bytes }],
        providers: ['cpu'],
        graphics: new FakeGraphicsMemory(null),
      });
    const common = { models: ['all'], launch: realHosts };
    const measureOne = async (): Promise<number> => {
      const alone = await startWorker({ ...common, machine: machine(2 ** 40) });
      await untilHeartbeat(({ models: [only] }) => (only?.memory?.cpu ?? 0) > 0);
      const [served] = alone.models;
      await alone.stop(0);
      return (served && alone.residency.memoryOf(served))?.cpu ?? 0;
    };
    // The first host of a fresh checkout also contains the compiler of its sources.
    await measureOne();
    const measured = await measureOne();
    expect(measured).toBeGreaterThan(30 * 2 ** 20);

    await installTinyModel(home, { id: 'two' });
    const second = await startWorker({ ...common, machine: machine(1.2 * measured) });
    // Exactly one is left, whether or not both fit by their estimates.
    await untilHeartbeat(
      ({ models, worker: said }) => models.length === 1 && said?.withoutReplica[0]?.cause === 'waiting',
    );
    const [left] = (await untilHeartbeat(({ models }) => models[0]?.state === 'ready')).models;
    const other = left?.modelId === 'one' ? 'two' : 'one';
    await requestUntilLoaded(other);
    const heartbeat = await untilUnloaded(left?.modelId ?? '');
    expect(heartbeat.models.map(({ modelId }) => modelId)).toEqual([other]);
    const answer = await ask(other, 'The river');
    expect((await answer.until('job-finished')).type).toBe('job-finished');
    answer.close();
    expect(second.residency.evictionCounts.size).toBeGreaterThan(0);
  });
});
