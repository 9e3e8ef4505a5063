import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { deterministicManifest } from '#test/deterministic-model';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { ModelRepository } from '../registry/model.repository.js';
import { ModelRegistryService } from '../registry/model-registry.service.js';
import { noOnlineModels } from '../registry/online-models.js';
import type { DesiredState, ModelPlacement } from './placement.js';
import { PlacementPublisher, type WorkerHeartbeatLike } from './placement-publisher.js';
import { PlacementRepository } from './placement.repository.js';
import { PlacementService } from './placement.service.js';

const gigabyte = 1e9;

let database: TestDatabase;
let prisma: PrismaService;
let registry: ModelRegistryService;
let repository: PlacementRepository;
let service: PlacementService;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4 });
  registry = new ModelRegistryService(new ModelRepository(prisma), noOnlineModels, { cacheMs: 0 });
  repository = new PlacementRepository(prisma);
  service = new PlacementService(new PlacementRepository(prisma), registry);
});

beforeEach(async () => {
  await registry.upsert([
    deterministicManifest('small', { installedBytes: gigabyte }),
    deterministicManifest('large', { installedBytes: 50 * gigabyte }),
    deterministicManifest('judge', { internal: true }),
  ]);
});

afterEach(async () => {
  await prisma.modelPlacement.deleteMany();
  await prisma.workerState.deleteMany();
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

const placed = (modelId: string, overrides: Partial<ModelPlacement> = {}): ModelPlacement => ({
  modelId,
  pool: 'text',
  pinned: false,
  replicas: null,
  ...overrides,
});

function worker(
  processId: string,
  cpu: number,
  pools = ['text'],
): Parameters<PlacementRepository['recordWorkers']>[0][0] {
  return { processId, pools, budgets: { cpu }, models: [], withoutReplica: [] };
}

describe('placements', () => {
  it('are stored, replaced and removed, and each change increments the revision', async () => {
    const before = (await service.desired()).revision;
    await service.place(placed('small'));
    await service.place(placed('small', { pinned: true, replicas: 2 }));
    await service.place(placed('judge', { pool: 'image' }));
    await service.place(placed('small', { pool: 'image' }));
    expect(await service.desired()).toEqual({
      revision: before + 4,
      placements: [
        placed('judge', { pool: 'image' }),
        placed('small', { pool: 'image' }),
        placed('small', { pinned: true, replicas: 2 }),
      ],
    });
    expect(await service.unplace('small', 'text')).toEqual(['text']);
    await service.place(placed('small'));
    expect(await service.unplace('small', null)).toEqual(['image', 'text']);
    expect((await service.desired()).placements).toEqual([placed('judge', { pool: 'image' })]);
  });

  it('of two concurrent changes are both stored and counted', async () => {
    const before = (await service.desired()).revision;
    const pools = Array.from({ length: 8 }, (_, index) => `pool-${index}`);
    await Promise.all(pools.map((pool) => service.place(placed('small', { pool }))));
    const { revision, placements } = await service.desired();
    expect(revision).toBe(before + 8);
    expect(placements.map(({ pool }) => pool)).toEqual(pools);
  });

  it('are removed with their model', async () => {
    await service.place(placed('small'));
    await registry.remove('small');
    expect((await service.desired()).placements).toEqual([]);
  });

  it.each([
    [placed('nobody'), 'MODEL_NOT_FOUND'],
    [placed('small', { pool: 'Text' }), 'INVALID_REQUEST'],
    [placed('small', { pool: '' }), 'INVALID_REQUEST'],
    [placed('small', { replicas: 0 }), 'INVALID_REQUEST'],
    [placed('small', { replicas: 1.5 }), 'INVALID_REQUEST'],
  ])('are rejected: %j', async (placement, code) => {
    const before = await service.desired();
    await expect(service.place(placement)).rejects.toMatchObject({ code });
    expect(await service.desired()).toEqual(before);
  });

  it('are rejected for a model too large for every worker of the pool, with its size and the largest budget', async () => {
    await repository.recordWorkers([
      worker('w1', 4 * gigabyte),
      worker('w2', 8 * gigabyte),
      worker('w3', 90 * gigabyte, []),
    ]);
    const refusal =
      'large needs 50000 MB for its weights alone; the largest budget of a worker in the pool text is 8000 MB.';
    await expect(service.place(placed('large'))).rejects.toMatchObject({ message: expect.stringContaining(refusal) });
    expect((await service.place(placed('small'))).map(({ processId }) => processId)).toEqual(['w1', 'w2']);
    // No worker is there yet, and a later one may be large enough.
    expect(await service.place(placed('large', { pool: 'later' }))).toEqual([]);
  });

  it('that do not exist cannot be removed', async () => {
    await expect(service.unplace('small', 'text')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(service.unplace('small', null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

/** In-memory fake of the bus. */
class PaperChannel {
  readonly published: DesiredState[] = [];
  broken = false;
  ask: () => void = () => undefined;

  announce = (desired: DesiredState): Promise<void> => {
    if (this.broken) return Promise.reject(new Error('the store is away'));
    this.published.push(desired);
    return Promise.resolve();
  };

  subscribe = ({ onAsk }: { onAsk: () => void }): (() => void) => {
    this.ask = onAsk;
    return () => (this.ask = () => undefined);
  };
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('PlacementPublisher', () => {
  const logger = createLogger('ops', { level: 'silent' });
  let channel: PaperChannel;
  let heartbeats: WorkerHeartbeatLike[];
  let assigner: PlacementPublisher;

  function start(everyMs: number): void {
    assigner = new PlacementPublisher(repository, { channel, heartbeats: () => heartbeats }, logger, everyMs);
    assigner.start();
  }

  beforeEach(() => {
    channel = new PaperChannel();
    heartbeats = [];
  });
  afterEach(() => assigner.close());

  it('publishes placements at start, on changes, and on request', async () => {
    await service.place(placed('small'));
    start(50);
    await until(() => channel.published.length > 0);
    expect(channel.published[0]?.placements).toEqual([placed('small')]);
    await service.place(placed('small', { pinned: true }));
    await until(() => channel.published.at(-1)?.placements[0]?.pinned === true);
    await assigner.close();
    channel.published.length = 0;
    // Too slow to publish a second time by itself.
    start(60_000);
    await until(() => channel.published.length === 1);
    channel.ask();
    await until(() => channel.published.length === 2);
  });

  it('publishes periodically, because the bus may lose a message, and continues after a database failure', async () => {
    channel.broken = true;
    start(10);
    await new Promise((resolve) => setTimeout(resolve, 50));
    channel.broken = false;
    await until(() => channel.published.length > 3);
    expect(new Set(channel.published.map(({ revision }) => revision)).size).toBe(1);
  });

  it('records the holdings that workers report, and no others', async () => {
    const details = {
      pools: ['text'],
      budgets: { cpu: 5 },
      withoutReplica: [{ modelId: 'b', cause: 'too-large', reason: 'why' }],
    };
    const held = { modelId: 'a', state: 'ready', provider: 'cpu', memory: { cpu: 3 } };
    // One that gives itself the id of another, which came first.
    const impostor = { processId: 'w1', role: 'worker', models: [] };
    heartbeats = [
      { processId: 'api-1', role: 'api', models: [] },
      // A worker of an earlier version reports no details.
      { processId: 'old', role: 'worker', models: [{ modelId: 'a', state: 'loading', provider: '' }] },
      { processId: 'w1', role: 'worker', models: [held], worker: details },
      impostor,
    ];
    start(10);
    await until(async () => (await service.workers()).length === 2);
    const seenAt = expect.any(Date) as Date;
    expect(await service.workers()).toEqual([
      {
        processId: 'old',
        pools: [],
        budgets: {},
        withoutReplica: [],
        models: [{ modelId: 'a', state: 'loading', provider: '' }],
        seenAt,
      },
      { processId: 'w1', models: [held], ...details, seenAt },
    ]);
    heartbeats = [];
    await prisma.$executeRaw`UPDATE worker_holdings SET seen_at = now() - interval '30 seconds'`;
    expect(await service.workers()).toEqual([]);
    await prisma.$executeRaw`UPDATE worker_holdings SET seen_at = now() - interval '2 minutes'`;
    await until(async () => (await repository.readWorkers()).length === 0);
  });
});
