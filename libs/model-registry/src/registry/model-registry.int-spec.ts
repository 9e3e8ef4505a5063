import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { ModelsController } from '../api/models.controller.js';
import { bundledManifestFolder, loadManifestFolder, selectManifests } from '../manifest/index.js';
import { ModelRepository } from './model.repository.js';
import { ModelRegistryService } from './model-registry.service.js';
import { MembershipOnlineModels, noOnlineModels } from './online-models.js';
import { exampleEmbeddingManifest, exampleManifest } from '#test/example-manifest';

let database: TestDatabase;
let prisma: PrismaService;
let held: { modelId: string; state: string }[];
let registry: ModelRegistryService;
let controller: ModelsController;

const bundled = await loadManifestFolder(bundledManifestFolder());
const chatModel = 'tinyllama-1.1b-chat';
const starters = selectManifests(bundled, 'stories-15m,tinyllama-1.1b-chat');

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

beforeEach(async () => {
  await prisma.model.deleteMany();
  held = [];
  registry = new ModelRegistryService(
    new ModelRepository(prisma),
    new MembershipOnlineModels(() => [{ models: held }]),
  );
  controller = new ModelsController(registry);
});

describe('ModelRegistryService', () => {
  it('writes manifests once, however many processes start and however often', async () => {
    const replicas = [1, 2, 3].map(() => new ModelRegistryService(new ModelRepository(prisma), noOnlineModels));
    const changed = await Promise.all(replicas.map((replica) => replica.upsert(starters)));
    expect(changed.flat().sort()).toEqual(['stories-15m', 'tinyllama-1.1b-chat']);
    expect(await registry.upsert(starters)).toEqual([]);
    expect(await registry.names('trait', 'text')).toEqual({ default: chatModel, instruct: chatModel });
  });

  it('applies changes of a manifest, names included', async () => {
    await registry.upsert([exampleManifest({ aliases: ['one', 'two'], traits: { default: 1 } })]);
    expect(await registry.upsert([exampleManifest({ aliases: ['two', 'three'], name: 'Renamed' })])).toEqual([
      'example',
    ]);
    expect(await registry.names('alias', 'text')).toEqual({ three: 'example', two: 'example' });
    expect(await registry.names('trait', 'text')).toEqual({});
    expect((await registry.list('text'))[0]?.model_spec.name).toBe('Renamed');
  });

  it('returns a manifest as it was written', async () => {
    const scenario = starters.find(({ id }) => id === 'stories-15m');
    await registry.upsert(starters);
    held = [{ modelId: scenario?.id ?? '', state: 'ready' }];
    const resolved = await registry.resolve({ name: 'stories', type: 'text' });
    expect(resolved.manifest).toEqual(scenario);
  });

  it('resolves the default trait to the story model until the chat model is ready', async () => {
    await registry.upsert(starters);
    held = [
      { modelId: 'stories-15m', state: 'ready' },
      { modelId: 'tinyllama-1.1b-chat', state: 'loading' },
    ];
    expect((await registry.resolve({ name: 'default', type: 'text' })).manifest.id).toBe('stories-15m');
    expect(await registry.names('trait', 'text')).toEqual({ default: 'stories-15m', instruct: chatModel });
    held = held.map((model) => ({ ...model, state: 'ready' }));
    expect((await registry.resolve({ name: 'default', type: 'text' })).manifest.id).toBe('tinyllama-1.1b-chat');
  });

  it('takes a model offline and online, and keeps the state across a restart', async () => {
    await registry.upsert([exampleManifest()]);
    held = [{ modelId: 'example', state: 'ready' }];
    await registry.setDisabled('example', true);
    await registry.upsert([exampleManifest()]);
    await expect(registry.resolve({ name: 'example', type: 'text' })).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect((await registry.list('text'))[0]?.model_spec.offline).toBe(true);
    await registry.setDisabled('example', false);
    expect((await registry.resolve({ name: 'example', type: 'text' })).offline).toBe(false);
  });

  it('removes a model with its names', async () => {
    await registry.upsert([exampleManifest({ aliases: ['one'] })]);
    await registry.remove('example');
    expect(await registry.names('alias', 'text')).toEqual({});
    await expect(registry.remove('example')).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
    await expect(registry.setDisabled('example', true)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  });

  it('sees changes of another process once its cache expires', async () => {
    let nowMs = 0;
    const clock = { nowMs: () => Date.now(), monotonicMs: () => nowMs };
    const reader = new ModelRegistryService(
      new ModelRepository(prisma),
      { isOnline: () => true, runMemory: () => null, isAttested: () => false },
      { clock },
    );
    expect(await reader.list('all')).toEqual([]);
    await registry.upsert([exampleManifest()]);
    expect(await reader.list('all')).toEqual([]);
    nowMs = 2_001;
    expect(await reader.list('all')).toHaveLength(1);
  });

  it('continues with cached content while the database is unavailable, and fails without a cache', async () => {
    await registry.upsert([exampleManifest()]);
    const unavailable = new PrismaService({ url: 'postgresql://nobody@127.0.0.1:9/none' });
    const uncached = new ModelRegistryService(new ModelRepository(unavailable), {
      isOnline: () => true,
      runMemory: () => null,
      isAttested: () => false,
    });
    await expect(uncached.list('all')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });

    let nowMs = 0;
    const clock = { nowMs: () => Date.now(), monotonicMs: () => nowMs };
    const other = await createMigratedDatabase();
    const shortLived = new PrismaService({ url: other.url });
    const reader = new ModelRegistryService(
      new ModelRepository(shortLived),
      { isOnline: () => true, runMemory: () => null, isAttested: () => false },
      { clock },
    );
    await reader.upsert([exampleManifest()]);
    expect(await reader.list('all')).toHaveLength(1);
    await other.drop();
    nowMs = 10_000;
    expect(await reader.list('all')).toHaveLength(1);
    await shortLived.$disconnect();
    await unavailable.$disconnect();
  });
});

describe('GET /models', () => {
  it('returns the exact entry of the API', async () => {
    await registry.upsert(starters);
    const response = await controller.list('text');
    expect(response).toMatchObject({ object: 'list', type: 'text' });
    expect(response.data.map(({ id }) => id)).toEqual(['tinyllama-1.1b-chat', 'stories-15m']);
    expect(response.data[1]).toEqual({
      id: 'stories-15m',
      object: 'model',
      created: 1690156800,
      owned_by: 'sluice',
      type: 'text',
      context_length: 256,
      model_spec: {
        name: 'Stories 15M',
        description: expect.any(String),
        modelSource: 'https://github.com/karpathy/llama2.c',
        privacy: 'private',
        offline: true,
        traits: [],
        availableContextTokens: 256,
        maxCompletionTokens: 256,
        capabilities: {
          optimizedForCode: false,
          supportsFunctionCalling: true,
          supportsAudioInput: false,
          supportsReasoning: false,
          supportsReasoningEffort: false,
          supportsResponseSchema: true,
          supportsMultipleImages: false,
          supportsVision: false,
          supportsVideoInput: false,
          supportsWebSearch: false,
          supportsLogProbs: true,
          supportsTeeAttestation: false,
          supportsE2EE: false,
          supportsXSearch: false,
          quantization: 'int8',
        },
        constraints: { temperature: { default: 0.8 }, top_p: { default: 0.9 } },
        pricing: { input: { usd: 0.01, diem: 0.01 }, output: { usd: 0.02, diem: 0.02 } },
      },
    });
  });

  it('filters by kind, supports all and code, and defaults to text', async () => {
    const coder = exampleManifest({
      id: 'coder',
      capabilities: { ...exampleManifest().capabilities, optimizedForCode: true },
    });
    await registry.upsert([exampleManifest(), exampleEmbeddingManifest(), coder]);
    const ids = async (type?: string) => (await controller.list(type)).data.map(({ id }) => id);
    expect(await ids()).toEqual(['coder', 'example']);
    expect(await ids('embedding')).toEqual(['example-embedding']);
    expect(await ids('code')).toEqual(['coder']);
    expect(await ids('all')).toEqual(['coder', 'example', 'example-embedding']);
    expect(await ids('video')).toEqual([]);
  });

  it.each([['chat'], [''], ['TEXT'], [['text', 'image']]])('rejects the type %j', async (type) => {
    await expect(controller.list(type)).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'type' });
  });

  it('supports neither all nor code for names', async () => {
    await expect(controller.traits('all')).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'type' });
    await expect(controller.compatibilityMapping('code')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('maps aliases to ids', async () => {
    await registry.upsert(starters);
    expect(await controller.compatibilityMapping()).toEqual({
      object: 'list',
      type: 'text',
      data: { stories: 'stories-15m', tinyllama: 'tinyllama-1.1b-chat' },
    });
  });
});
