import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { deterministicManifest } from '#test/deterministic-model';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
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
  registry = new ModelRegistryService(prisma, noOnlineModels, { cacheMs: 0 });
  repository = new PlacementRepository(prisma);
  service = new PlacementService(prisma, registry);
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

const placed = (modelId: string, wishes: Partial<ModelPlacement> = {}): ModelPlacement => ({
  modelId,
  pool: 'text',
  pinned: false,
  replicas: null,
  ...wishes,
});

function worker(
  processId: string,
  cpu: number,
  pools = ['text'],
): Parameters<PlacementRepository['recordWorkers']>[0][0] {
  return { processId, pools, budgets: { cpu }, models: [], withoutReplica: [] };
}

describe('placements', () => {
  it('are kept, replaced by what is said anew, and taken back, each change counted', async () => {
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

  it('of two changes at once are both kept and counted', async () => {
    const before = (await service.desired()).revision;
    const pools = Array.from({ length: 8 }, (_, index) => `pool-${index}`);
    await Promise.all(pools.map((pool) => service.place(placed('small', { pool }))));
    const { revision, placements } = await service.desired();
    expect(revision).toBe(before + 8);
    expect(placements.map(({ pool }) => pool)).toEqual(pools);
  });

  it('go with the model that leaves the registry', async () => {
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
  ])('are refused: %j', async (placement, code) => {
    const before = await service.desired();
    await expect(service.place(placement)).rejects.toMatchObject({ code });
    expect(await service.desired()).toEqual(before);
  });

  it('are refused for a model that no worker of the pool could hold, naming what it needs and what there is', async () => {
    await repository.recordWorkers([
      worker('w1', 4 * gigabyte),
      worker('w2', 8 * gigabyte),
      worker('w3', 90 * gigabyte, []),
    ]);
    const refusal =
      'large needs 50000 MB for its weights alone; the largest budget of a worker in the pool text is 8000 MB.';
    await expect(service.place(placed('large'))).rejects.toMatchObject({ message: expect.stringContaining(refusal) });
    expect((await service.place(placed('small'))).map(({ processId }) => processId)).toEqual(['w1', 'w2']);
    // Nobody is there yet: whoever comes may be large enough.
    expect(await service.place(placed('large', { pool: 'later' }))).toEqual([]);
  });

  it('that are not there cannot be taken back', async () => {
    await expect(service.unplace('small', 'text')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(service.unplace('small', null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

/** The bus on paper. */
class PaperChannel {
  readonly told: DesiredState[] = [];
  broken = false;
  ask: () => void = () => undefined;

  announce = (desired: DesiredState): Promise<void> => {
    if (this.broken) return Promise.reject(new Error('the store is away'));
    this.told.push(desired);
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

describe('the keeper of placements', () => {
  const logger = createLogger('ops', { level: 'silent' });
  let channel: PaperChannel;
  let heartbeats: WorkerHeartbeatLike[];
  let assigner: PlacementPublisher;

  function start(everyMs: number): void {
    assigner = new PlacementPublisher({ repository, channel, heartbeats: () => heartbeats, logger, everyMs });
    assigner.start();
  }

  beforeEach(() => {
    channel = new PaperChannel();
    heartbeats = [];
  });
  afterEach(() => assigner.close());

  it('tells what is placed when it starts, when it changes, and when somebody asks', async () => {
    await service.place(placed('small'));
    start(50);
    await until(() => channel.told.length > 0);
    expect(channel.told[0]?.placements).toEqual([placed('small')]);
    await service.place(placed('small', { pinned: true }));
    await until(() => channel.told.at(-1)?.placements[0]?.pinned === true);
    await assigner.close();
    channel.told.length = 0;
    // Too slow to say anything a second time by itself.
    start(60_000);
    await until(() => channel.told.length === 1);
    channel.ask();
    await until(() => channel.told.length === 2);
  });

  it('says it again and again, since the bus may lose a message, and goes on when the store was away', async () => {
    channel.broken = true;
    start(10);
    await new Promise((resolve) => setTimeout(resolve, 50));
    channel.broken = false;
    await until(() => channel.told.length > 3);
    expect(new Set(channel.told.map(({ revision }) => revision)).size).toBe(1);
  });

  it('writes down what workers say that they hold, and only them', async () => {
    const said = {
      pools: ['text'],
      budgets: { cpu: 5 },
      withoutReplica: [{ modelId: 'b', cause: 'too-large', reason: 'why' }],
    };
    const held = { modelId: 'a', state: 'ready', provider: 'cpu', memory: { cpu: 3 } };
    heartbeats = [
      { processId: 'api-1', role: 'api', models: [] },
      // A worker of an earlier version says nothing of itself.
      { processId: 'old', role: 'worker', models: [{ modelId: 'a', state: 'loading', provider: '' }] },
      { processId: 'w1', role: 'worker', models: [held], worker: said },
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
      { processId: 'w1', models: [held], ...said, seenAt },
    ]);
    heartbeats = [];
    await prisma.$executeRaw`UPDATE worker_holdings SET seen_at = now() - interval '30 seconds'`;
    expect(await service.workers()).toEqual([]);
    await prisma.$executeRaw`UPDATE worker_holdings SET seen_at = now() - interval '2 minutes'`;
    await until(async () => (await repository.readWorkers()).length === 0);
  });
});
