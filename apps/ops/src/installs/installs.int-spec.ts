import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  ModelRegistryService,
  ModelRepository,
  noOnlineModels,
  PlacementRepository,
  PlacementService,
} from '#model-registry';
import {
  type Installation,
  InstallationRepository,
  InstallationRunner,
  type InstallationState,
  type InstallerProcess,
} from '#model-registry/installations';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { exampleManifest } from '#test/example-manifest';
import { largeBytesReceived, largeGraph, largeManifest, largeWeights, publishLarge } from '#test/large-model';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { compileProgram, runSourceArguments, sourcePath } from '#test/source-program';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { WeightsServer } from '#test/weights-server';
import { launchInstaller } from './launch-installer.js';

/* Installations by real processes of the command line, into a real store. */

const modulePath = sourcePath('apps/cli/src/models/install.child.ts');
const withinMs = 150_000;
/** Each process loads the sources of the command line, and the first one compiles them. */
const timeout = 180_000;

let database: TestDatabase;
let prisma: PrismaService;
let repository: InstallationRepository;
let registry: ModelRegistryService;
let placements: PlacementService;
let hub: WeightsServer;
let home: string;
let runners: InstallationRunner[];
let children: InstallerProcess[];
let complaints: string[];

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 6 });
  repository = new InstallationRepository(prisma);
  registry = new ModelRegistryService(new ModelRepository(prisma), noOnlineModels, { cacheMs: 0 });
  placements = new PlacementService(new PlacementRepository(prisma), registry);
  hub = await WeightsServer.start();
  publishLarge(hub);
  vi.stubEnv('HF_ENDPOINT', hub.url);
  await compileProgram(modulePath);
}, timeout);

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'sluice-installs-')));
  [runners, children, complaints] = [[], [], []];
  hub.seen.length = 0;
});

afterEach(async () => {
  await Promise.all(runners.map((runner) => runner.close()));
  await prisma.modelInstallation.deleteMany();
  await prisma.model.deleteMany();
  await rm(home, { recursive: true });
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await hub.close();
  await prisma.$disconnect();
  await database.drop();
});

function launch(): InstallerProcess {
  const onStderr = (text: string) => void complaints.push(text);
  const child = launchInstaller({ home, modulePath, execArgv: runSourceArguments, onStderr });
  children.push(child);
  return child;
}

function startRunner(): InstallationRunner {
  const logger = createLogger('ops', { level: 'silent' });
  const importFolder = join(home, 'import');
  const runner = new InstallationRunner({
    ...{ repository, registry, placements, launch, importFolder, home, logger },
    ...{ pollMs: 50, reportMs: 50 },
  });
  runner.start();
  runners.push(runner);
  return runner;
}

async function ask(reference: string, options: Installation['options'] = {}): Promise<string> {
  const created = await repository.insert({ reference, options }, null);
  if (created === null) throw new Error(`${reference} is open already`);
  return created.id;
}

async function untilState(id: string, state: InstallationState): Promise<Installation> {
  await expect
    .poll(async () => [(await repository.find(id))?.state, complaints.join('\n')].join(' '), { timeout: withinMs })
    .toMatch(new RegExp(`^${state} `));
  return (await repository.find(id)) as Installation;
}

/** A registered model of which the hub sends a part, and then nothing. */
async function askForStalled(): Promise<string> {
  await registry.upsert([largeManifest()]);
  hub.stalls.set(largeGraph, [1_000_000]);
  return ask('large', { pool: 'local' });
}

async function untilReceived(bytes: number): Promise<void> {
  await expect.poll(() => largeBytesReceived(home), { timeout: withinMs }).toBe(bytes);
}

/** Leaves it as if the process that owns it had been killed together with its child. */
async function killOwner(id: string): Promise<void> {
  await prisma.$executeRaw`
    UPDATE model_installations SET lease_token = gen_random_uuid(), leased_until = now() - interval '1 s'
     WHERE id = ${id}::uuid`;
}

async function writeTinyModel(name: string): Promise<string> {
  const folder = join(home, 'import', name);
  await mkdir(folder, { recursive: true });
  await copyTinyDecoder('llama', folder);
  return folder;
}

describe('an installation', { timeout }, () => {
  it('inspects, converts, checks, registers and places a model of a folder', async () => {
    await writeTinyModel('tiny');
    startRunner();
    const id = await ask('./tiny', { id: 'own-llama', tier: 'XS', outputPriceUsd: 2, pool: 'local' });
    const installed = await untilState(id, 'installed');
    expect(installed).toMatchObject({ modelId: 'own-llama', attempt: 1, owner: null, error: null, progress: null });
    expect(installed.note).toContain('own-llama: llama, ');
    expect(installed.note).toContain('memory: ');
    expect(await registry.find('own-llama')).toMatchObject({ tier: 'XS', pricing: { output: { usd: 2 } } });
    expect((await placements.desired()).placements).toMatchObject([{ modelId: 'own-llama', pool: 'local' }]);
    expect(existsSync(join(home, 'models', 'own-llama', 'installed.json'))).toBe(true);
    expect(await repository.installers()).toMatchObject([
      { importFolder: join(home, 'import'), installed: ['own-llama'] },
    ]);
  });

  it('is done once by two owners of one store', async () => {
    const id = await askForStalled();
    hub.stalls.clear();
    startRunner();
    startRunner();
    expect(await untilState(id, 'installed')).toMatchObject({ attempt: 1 });
    expect(children).toHaveLength(1);
    expect(hub.requestsOf(largeGraph)).toHaveLength(1);
  });

  it('is resumed where its owner was killed, and what the old one does no longer counts', async () => {
    startRunner();
    const id = await askForStalled();
    await untilReceived(1_000_000);
    await expect
      .poll(async () => (await repository.find(id))?.progress)
      .toMatchObject({
        ...{ stage: 'download', file: 'onnx/model.onnx', done: 1_000_000, total: 3_000_002, unit: 'bytes' },
      });
    await killOwner(id);
    expect(await untilState(id, 'installed')).toMatchObject({ attempt: 2 });
    expect(hub.requestsOf(largeGraph).map(({ range }) => range)).toEqual([null, 'bytes=1000000-']);
    const file = await readFile(join(home, 'models', 'large', 'onnx', 'model.onnx'));
    expect(file.equals(largeWeights)).toBe(true);
    expect(children).toHaveLength(2);
    await children[0]?.ended;
  });

  it('ends when it is cancelled, keeps what it has, and goes on when it is tried again', async () => {
    startRunner();
    const id = await askForStalled();
    await untilReceived(1_000_000);
    expect(await repository.cancel(id)).toBe(true);
    await children[0]?.ended;
    expect(await repository.find(id)).toMatchObject({ state: 'cancelled', error: null });
    expect(await largeBytesReceived(home)).toBe(1_000_000);
    expect(existsSync(join(home, 'models', '.lock-large'))).toBe(false);
    expect(await repository.retry(id)).toBe(true);
    await untilState(id, 'installed');
    expect(hub.requestsOf(largeGraph).map(({ range }) => range)).toEqual([null, 'bytes=1000000-']);
  });

  it('waits for the next owner when its own stops in order', async () => {
    const runner = startRunner();
    const id = await askForStalled();
    await untilReceived(1_000_000);
    await runner.close();
    await children[0]?.ended;
    expect(await repository.find(id)).toMatchObject({ state: 'waiting', owner: null, attempt: 0 });
    expect(await repository.installers()).toEqual([]);
    startRunner();
    await untilState(id, 'installed');
  });

  it('fails with the reason, and the next one follows', async () => {
    const missing = await ask('./missing');
    const unknown = await ask('hf:owner/none');
    startRunner();
    expect((await untilState(missing, 'failed')).error).toEqual({
      code: 'MODEL_PULL_FAILED',
      message: `There is no file or folder ${join(home, 'import', 'missing')}.`,
    });
    expect((await untilState(unknown, 'failed')).error?.message).toContain('hf:owner/none@main does not exist');
  });

  it('keeps a registered model of the same id', async () => {
    await registry.upsert([exampleManifest({ id: 'taken', tier: 'L' })]);
    await writeTinyModel('tiny');
    startRunner();
    const id = await ask('./tiny', { id: 'taken' });
    expect((await untilState(id, 'failed')).error?.message).toMatch(/^A model called taken is registered already; /);
    expect(await registry.find('taken')).toMatchObject({ tier: 'L' });
    expect(existsSync(join(home, 'models', 'taken'))).toBe(false);
  });
});

describe('what an operator may name from a browser', { timeout }, () => {
  it('is no file behind a link that leads out of the import folder, and none that a manifest names elsewhere', async () => {
    const folder = await writeTinyModel('tiny');
    await mkdir(join(home, 'secrets'));
    await writeFile(join(home, 'secrets', 'key.gguf'), 'GGUF');
    await symlink(join(home, 'secrets'), join(home, 'import', 'link'));
    const manifest = exampleManifest({
      id: 'sly',
      graphFile: 'key.gguf',
      sources: [{ uri: `file:${join(home, 'secrets', 'key.gguf')}`, files: [{ path: 'key.gguf' }] }],
    });
    await writeFile(join(folder, 'sly.json'), JSON.stringify(manifest));
    startRunner();
    const ids = [await ask('./link/key.gguf'), await ask('./tiny/sly.json')];
    for (const id of ids) expect((await untilState(id, 'failed')).error?.message).toContain('is not below');
    expect(existsSync(join(home, 'models', 'sly'))).toBe(false);
  });

  it('is no address of this machine', async () => {
    hub.addFile('/a.gguf', largeWeights);
    startRunner();
    const id = await ask(`${hub.url}/a.gguf`);
    expect((await untilState(id, 'failed')).error?.message).toBe('127.0.0.1 leads to an address that is not public.');
    expect(hub.seen).toEqual([]);
  });
});

describe('the process that installs', () => {
  it('has no secret but those of the sources', async () => {
    const ofOthers = ['SLUICE_RPC_UPSTREAMS', 'SLUICE_API_KEY', 'PGPASSWORD', 'AWS_SECRET_ACCESS_KEY'];
    const script = join(home, 'environment.mjs');
    await writeFile(
      script,
      `process.once('message', () => process.send({ type: 'failed', message: JSON.stringify(process.env) }));`,
    );
    vi.stubEnv('DATABASE_URL', database.url);
    vi.stubEnv('SLUICE_SECRET_KEY', '5c'.repeat(32));
    vi.stubEnv('HF_TOKEN', 'hub token');
    for (const name of ofOthers) vi.stubEnv(name, `5c5c5c of ${name}`);
    const child = launchInstaller({ home, modulePath: script, onStderr: (text) => complaints.push(text) });
    const answer = new Promise<string>((resolve) =>
      child.onMessage((message) => resolve('message' in message ? message.message : '')),
    );
    child.send({ type: 'continue' });
    const environment = JSON.parse(await answer) as Record<string, string>;
    expect(environment).toMatchObject({ SLUICE_HOME: home, HF_TOKEN: 'hub token' });
    expect(Object.keys(environment)).not.toContain('DATABASE_URL');
    expect(JSON.stringify(environment)).not.toContain('5c5c5c');
    await child.stop();
    vi.stubEnv('DATABASE_URL', undefined);
    vi.stubEnv('SLUICE_SECRET_KEY', undefined);
    vi.stubEnv('HF_TOKEN', undefined);
    for (const name of ofOthers) vi.stubEnv(name, undefined);
  });
});
