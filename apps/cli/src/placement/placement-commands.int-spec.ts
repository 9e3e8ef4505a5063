import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelRegistryService, ModelRepository, noOnlineModels, PlacementRepository } from '#model-registry';
import { PrismaService } from '#platform/prisma';
import { runCommandLine } from '#test/command-line';
import { deterministicManifest } from '#test/deterministic-model';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';

let database: TestDatabase;
let prisma: PrismaService;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 2 });
  const manifests = ['one', 'two'].map((id) => deterministicManifest(id, { installedBytes: 5e9 }));
  await new ModelRegistryService(new ModelRepository(prisma), noOnlineModels).upsert(manifests);
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

const run = (...line: string[]) => runCommandLine(['models', ...line], { DATABASE_URL: database.url });

describe('sluice models placement', () => {
  it('reports that no model is placed and no worker is running', async () => {
    expect(await run('placement')).toBe(
      'no models are placed; workers serve the models in their SLUICE_MODELS\n\n' +
        'no worker has reported recently, or ops is not running\n',
    );
    expect(await run('place', 'one', '--pool', 'text')).toBe(
      'one: placed in the pool text; no workers are there now\n',
    );
  });

  it('shows placements, the models of each worker and why a model is not loaded', async () => {
    const reason = 'two is not loaded: it needs about 5.0 GB on cpu';
    await new PlacementRepository(prisma).recordWorkers([
      {
        processId: 'worker-1',
        pools: ['text'],
        budgets: { cpu: 8e9 },
        models: [{ modelId: 'one', state: 'ready', provider: 'cpu', memory: { cpu: 2.5e9 } }],
        withoutReplica: [{ modelId: 'two', cause: 'too-large', reason }],
      },
      {
        processId: 'worker-2',
        pools: [],
        budgets: {},
        models: [
          { modelId: 'one', state: 'ready', provider: 'cpu', providerNote: 'cuda skipped: no device was found' },
        ],
        withoutReplica: [],
      },
      { processId: 'worker-3', pools: [], budgets: {}, models: [], withoutReplica: [] },
    ]);
    expect(await run('place', 'two', '--pool', 'text', '--pin', '--replicas', '2')).toBe(
      'two: placed in the pool text, pinned, on 2 of its workers; one worker is there now\n',
    );
    expect((await run('placement')).split('\n')).toEqual([
      'MODEL  POOL  PINNED  WANTED ON  READY ON',
      'one    text  –       all (1)    1',
      'two    text  yes     2          0',
      '',
      'WORKER    POOLS  MODEL  STATE      RUNS ON  MEMORY      OF',
      'worker-1  text   one    ready      cpu      2.5 GB cpu  8.0 GB cpu',
      'worker-1  text   two    too large  –        –           8.0 GB cpu',
      'worker-2  –      one    ready      cpu      –           –',
      'worker-3  –      –      –          –        –           –',
      '',
      `worker-1: ${reason}`,
      'worker-2: one runs on cpu: cuda skipped: no device was found',
      '',
    ]);
    const list = await run('list');
    expect(list).toMatch(/^one .* unknown +cpu +test/m);
    expect(list).toMatch(/^two .* unknown +– +test/m);
    expect(list).toContain(`worker-1: ${reason}\nworker-2: one runs on cpu: cuda skipped: no device was found\n`);
    expect(await run('unplace', 'two')).toBe('two: no longer placed in text\n');
  });
});
