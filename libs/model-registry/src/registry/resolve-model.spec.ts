import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '#common';
import type { ModelDeprecation, ModelManifest } from '../manifest/manifest.js';
import type { ModelNameRow } from './model.repository.js';
import { exampleEmbeddingManifest, exampleManifest } from '#test/example-manifest';
import { CompatibleNames } from './compatible-names.js';
import { RegistrySnapshot } from './registry-snapshot.js';
import { resolveAnyModel, type ResolveRequest, resolveModel } from './resolve-model.js';

const nowMs = Date.parse('2027-01-10T00:00:00Z');

interface World {
  models: ModelManifest[];
  online?: string[];
  disabled?: string[];
  compatible?: string[];
}

function snapshotOf({
  models,
  online = models.map(({ id }) => id),
  disabled = [],
  compatible = [],
}: World): RegistrySnapshot {
  const names = models.flatMap(({ id, type, traits, aliases }): ModelNameRow[] => [
    ...Object.entries(traits ?? {}).map(([name, rank]) => ({ name, type, kind: 'trait' as const, modelId: id, rank })),
    ...(aliases ?? []).map((name) => ({ name, type, kind: 'alias' as const, modelId: id, rank: 0 })),
  ]);
  const rows = models.map((manifest) => ({ manifest, disabled: disabled.includes(manifest.id) }));
  return new RegistrySnapshot(
    { models: rows, names },
    { isOnline: (id) => online.includes(id), runMemory: () => null, isAttested: () => false },
    nowMs,
    new CompatibleNames(compatible),
  );
}

function resolve(world: World, name: string, options: Partial<ResolveRequest> = {}) {
  return resolveModel(snapshotOf(world), { name, type: 'text', ...options });
}

const failure = (code: ErrorCode, text = '') =>
  expect.objectContaining({ code, param: 'model', message: expect.stringContaining(text) });

const scenario = exampleManifest({ id: 'story', traits: { default: 10 }, aliases: ['tales'] });
const chat = exampleManifest({ id: 'chat', traits: { default: 20 } });
const embedding = exampleEmbeddingManifest({ traits: { default: 5 } });

describe('names of hosted models', () => {
  const compatible = ['gpt-4o=text', 'tales=text', 'text-embedding-3-small=embedding'];

  it('mean the default model of their kind, and of no other kind', () => {
    const world = { models: [scenario, chat, embedding], compatible };
    expect(resolve(world, 'gpt-4o')).toMatchObject({ manifest: { id: 'chat' }, resolvedBy: 'alias' });
    expect(resolve(world, 'gpt-4o:strip_thinking_response=true').suffix).toEqual({ strip_thinking_response: 'true' });
    expect(resolve(world, 'text-embedding-3-small', { type: 'embedding' }).manifest.id).toBe(embedding.id);
    expect(() => resolve(world, 'text-embedding-3-small')).toThrow(failure('MODEL_NOT_FOUND'));
    expect(() => resolve({ models: [scenario, chat] }, 'gpt-4o')).toThrow(failure('MODEL_NOT_FOUND'));
    expect(
      Object.fromEntries([...snapshotOf(world).namesOf('alias', 'text')].map(([name, { id }]) => [name, id])),
    ).toEqual({
      'gpt-4o': 'chat',
      tales: 'story',
    });
  });

  it.each([
    ['text', 'gpt-4o'],
    ['text', 'gpt-4o-mini'],
    ['embedding', 'text-embedding-3-small'],
    ['tts', 'gpt-4o-mini-tts'],
    ['asr', 'gpt-4o-transcribe'],
    ['asr', 'gpt-4o-mini-transcribe'],
    ['asr', 'whisper-1'],
  ] as const)('are by default those that clients send: %s %s', (type, name) => {
    expect(new CompatibleNames(['hosted']).has(type, name)).toBe(true);
    expect(new CompatibleNames(['none']).has(type, name)).toBe(false);
  });

  it('may stand for all names that begin so, and are listed once', () => {
    const world = { models: [chat, scenario], compatible: ['hosted'] };
    for (const name of ['claude-opus-4-5-20251101', 'claude-haiku-4-5', 'claude-*']) {
      expect(resolve(world, name).manifest.id).toBe('chat');
    }
    expect(() => resolve(world, 'claude')).toThrow(failure('MODEL_NOT_FOUND'));
    expect(() => resolve({ ...world, compatible: ['none'] }, 'claude-haiku-4-5')).toThrow(failure('MODEL_NOT_FOUND'));
    expect(resolve({ ...world, compatible: ['my-*=text'] }, 'my-chat').manifest.id).toBe('chat');
    const named = [...snapshotOf(world).namesOf('alias', 'text').keys()].filter((name) => name.startsWith('claude'));
    expect(named).toEqual(['claude-*']);
  });

  it('stay names of models that have them', () => {
    const own = exampleManifest({ id: 'own', aliases: ['gpt-4o'] });
    expect(resolve({ models: [chat, own], compatible }, 'gpt-4o').manifest.id).toBe('own');
    expect(resolve({ models: [chat, scenario], compatible }, 'tales').manifest.id).toBe('story');
  });

  it.each(['gpt-4o', 'gpt-4o=video-game', '=text', 'a b=text'])('are refused with another form: %s', (entry) => {
    expect(() => new CompatibleNames([entry])).toThrow('SLUICE_COMPATIBLE_NAMES');
  });
});

describe('internal models', () => {
  const hidden = exampleManifest({ id: 'hidden', internal: true, traits: { default: 99 }, aliases: ['secret'] });

  it('are neither listed nor found under any of their names', () => {
    const models = [hidden, scenario];
    expect(
      snapshotOf({ models })
        .listed()
        .map(({ id }) => id),
    ).toEqual(['story']);
    expect(resolve({ models }, 'default')).toMatchObject({ manifest: { id: 'story' } });
    for (const name of ['hidden', 'secret'])
      expect(() => resolve({ models }, name)).toThrow(failure('MODEL_NOT_FOUND'));
  });
});

describe('input adapters', () => {
  const imageModel = { type: 'image', constraints: undefined, pricing: undefined, internal: true } as const;
  const reader = exampleManifest({ ...imageModel, id: 'reader', adapts: 'image', aliases: ['eyes'] });
  const asAdapter = { type: 'image', isAdapter: true, allowOffline: true } as const;

  it('are found by the id that a manifest names, and by no client', () => {
    const world = { models: [reader, scenario] };
    expect(resolve(world, 'reader', asAdapter)).toMatchObject({ manifest: { id: 'reader' }, offline: false });
    for (const name of ['reader', 'eyes']) {
      expect(() => resolve(world, name, { type: 'image' })).toThrow(failure('MODEL_NOT_FOUND'));
    }
    expect(() => resolve(world, 'eyes', asAdapter)).toThrow(failure('MODEL_NOT_FOUND'));
    expect(snapshotOf(world).listed()).toEqual([scenario]);
  });

  it('are offline while no worker serves them or the operator took them offline', () => {
    const models = [reader];
    expect(resolve({ models, online: [] }, 'reader', asAdapter).offline).toBe(true);
    expect(resolve({ models, disabled: ['reader'] }, 'reader', asAdapter)).toMatchObject({
      offline: true,
      disabled: true,
    });
  });

  it('include models that clients can name, but no other internal ones', () => {
    const hidden = exampleManifest({ ...imageModel, id: 'hidden' });
    expect(resolve({ models: [scenario] }, 'story', { ...asAdapter, type: 'text' })).toMatchObject({
      resolvedBy: 'id',
    });
    expect(() => resolve({ models: [hidden] }, 'hidden', asAdapter)).toThrow(failure('MODEL_NOT_FOUND'));
  });
});

describe('resolveModel by name', () => {
  it('accepts registry ids, aliases and traits', () => {
    expect(resolve({ models: [scenario] }, 'story')).toMatchObject({ manifest: { id: 'story' }, resolvedBy: 'id' });
    expect(resolve({ models: [scenario] }, 'tales')).toMatchObject({ manifest: { id: 'story' }, resolvedBy: 'alias' });
    expect(resolve({ models: [scenario] }, 'default')).toMatchObject({
      manifest: { id: 'story' },
      resolvedBy: 'trait',
    });
  });

  it('returns the pairs of a suffix', () => {
    expect(resolve({ models: [scenario] }, 'tales:enable_web_search=on&x=y')).toMatchObject({
      manifest: { id: 'story' },
      suffix: { enable_web_search: 'on', x: 'y' },
    });
  });

  it('responds with 404 for an unknown name, and quotes only a part of it', () => {
    expect(() => resolve({ models: [scenario] }, 'stori')).toThrow(failure('MODEL_NOT_FOUND', 'stori'));
    expect(() => resolve({ models: [scenario] }, 'x'.repeat(5_000))).toThrow(
      expect.objectContaining({ message: `The model ${'x'.repeat(80)}… does not exist.` }),
    );
  });

  it('does not accept names of the object prototype as models', () => {
    expect(() => resolve({ models: [scenario] }, 'constructor')).toThrow(failure('MODEL_NOT_FOUND'));
    expect(() => resolve({ models: [scenario] }, '__proto__')).toThrow(failure('MODEL_NOT_FOUND'));
  });

  it('rejects a model of another kind, and resolves traits within the requested kind', () => {
    const models = [scenario, embedding];
    expect(() => resolve({ models }, 'example-embedding')).toThrow(failure('INVALID_MODEL', 'embedding'));
    expect(resolve({ models }, 'default', { type: 'embedding' }).manifest.id).toBe('example-embedding');
  });
});

describe('resolveModel and online models', () => {
  const models = [scenario, chat];

  it('resolves a trait to the highest rank that is online', () => {
    expect(resolve({ models }, 'default').manifest.id).toBe('chat');
    expect(resolve({ models, online: ['story'] }, 'default').manifest.id).toBe('story');
    expect(resolve({ models, disabled: ['chat'] }, 'default').manifest.id).toBe('story');
  });

  it('resolves to the highest rank if nothing is online', () => {
    expect(() => resolve({ models, online: [] }, 'default')).toThrow(failure('MODEL_OFFLINE', 'chat'));
  });

  it('responds with 503 for an offline model unless the request may wait', () => {
    expect(() => resolve({ models, online: [] }, 'story')).toThrow(failure('MODEL_OFFLINE', 'story'));
    expect(() => resolve({ models, disabled: ['story'] }, 'story')).toThrow(failure('MODEL_OFFLINE'));
    const waiting = { allowOffline: true };
    expect(resolve({ models, online: [] }, 'story', waiting)).toMatchObject({ offline: true, disabled: false });
    const takenOffline = resolve({ models, disabled: ['story'] }, 'story', waiting);
    expect(takenOffline).toMatchObject({ offline: true, disabled: true });
  });
});

describe('resolveModel and deprecation', () => {
  const withDeprecation = (deprecation: Partial<ModelDeprecation>, id = 'old', traits = {}) =>
    exampleManifest({
      id,
      traits,
      deprecation: { autoRemap: false, date: '2027-01-01', removesAt: '2027-01-01', ...deprecation },
    });
  const later = { date: '2027-02-01', removesAt: '2027-02-01' };

  it('warns from startsAt on, and not before', () => {
    const warned = withDeprecation({ ...later, startsAt: '2027-01-05', replacementModelId: 'chat' });
    const notYetDeprecated = withDeprecation({ ...later, startsAt: '2027-01-20' });
    expect(resolve({ models: [warned, chat] }, 'old').deprecation).toEqual({
      date: '2027-02-01',
      warning: 'The model old will be removed on 2027-02-01. Use chat instead.',
    });
    expect(resolve({ models: [notYetDeprecated] }, 'old').deprecation).toBeNull();
  });

  it('responds with 410 after removal without a remap, naming the replacement', () => {
    const old = withDeprecation({ replacementModelId: 'chat' });
    expect(() => resolve({ models: [old, chat] }, 'old')).toThrow(failure('MODEL_RETIRED', 'Use chat instead'));
  });

  it('redirects the request to the replacement if allowed, with a notice', () => {
    const old = withDeprecation({ autoRemap: true, replacementModelId: 'chat' });
    const resolved = resolve({ models: [old, chat] }, 'old:x=1');
    expect(resolved).toMatchObject({ manifest: { id: 'chat' }, resolvedBy: 'remap', suffix: { x: '1' } });
    expect(resolved.deprecation?.warning).toContain('chat is used instead');
  });

  it('follows a chain of replacements to its end', () => {
    const first = withDeprecation({ autoRemap: true, replacementModelId: 'second' }, 'first');
    const second = withDeprecation({ autoRemap: true, replacementModelId: 'chat' }, 'second');
    expect(resolve({ models: [first, second, chat] }, 'first').manifest.id).toBe('chat');
  });

  it('responds with 410 if the replacements form a cycle or do not exist', () => {
    const first = withDeprecation({ autoRemap: true, replacementModelId: 'second' }, 'first');
    const second = withDeprecation({ autoRemap: true, replacementModelId: 'first' }, 'second');
    const dangling = withDeprecation({ autoRemap: true, replacementModelId: 'nobody' }, 'lost');
    expect(() => resolve({ models: [first, second] }, 'first')).toThrow(failure('MODEL_RETIRED'));
    expect(() => resolve({ models: [dangling] }, 'lost')).toThrow(failure('MODEL_RETIRED'));
  });

  it('moves the traits of a removed model to its replacement', () => {
    const old = withDeprecation({ replacementModelId: 'plain' }, 'old', { default: 99 });
    const plain = exampleManifest({ id: 'plain' });
    expect(resolve({ models: [old, plain, chat] }, 'default').manifest.id).toBe('plain');
  });

  it('treats an alias of a removed model like its id', () => {
    const named = (deprecation: Partial<ModelDeprecation>) => ({
      ...withDeprecation(deprecation),
      aliases: ['former'],
    });
    const kept = [named({ replacementModelId: 'chat' }), chat];
    expect(() => resolve({ models: kept }, 'former')).toThrow(failure('MODEL_RETIRED', 'Use chat instead'));
    expect([...snapshotOf({ models: kept }).namesOf('alias', 'text')]).toEqual([]);
    const moved = [named({ autoRemap: true, replacementModelId: 'chat' }), chat];
    const resolved = resolve({ models: moved }, 'former');
    expect(resolved).toMatchObject({ manifest: { id: 'chat' }, resolvedBy: 'remap' });
    expect(resolved.deprecation?.warning).toContain('chat is used instead');
    const names = [...snapshotOf({ models: moved }).namesOf('alias', 'text')].map(([name, { id }]) => [name, id]);
    expect(names).toEqual([['former', 'chat']]);
  });

  it('prefers the listed model if a removed one has the same alias', () => {
    const old = { ...withDeprecation({ replacementModelId: 'plain' }, 'a-old'), aliases: ['shared'] };
    const present = exampleManifest({ id: 'present', aliases: ['shared'] });
    for (const online of [['a-old', 'present'], ['a-old'], []]) {
      const resolved = resolve({ models: [old, present], online }, 'shared', { allowOffline: true });
      expect(resolved.manifest.id).toBe('present');
    }
  });

  it('does not list removed models', () => {
    const listed = snapshotOf({ models: [withDeprecation({}), chat] }).listed();
    expect(listed.map(({ id }) => id)).toEqual(['chat']);
  });
});

describe('resolveModel and the client', () => {
  it('accepts the countries where a model is available, in any letter case, and rejects others', () => {
    const models = [exampleManifest({ id: 'here', regionRestrictions: ['XA'] })];
    expect(resolve({ models }, 'here', { region: 'xa' }).manifest.id).toBe('here');
    expect(() => resolve({ models }, 'here', { region: 'XB' })).toThrow(failure('UNAUTHORIZED', 'region'));
    expect(resolve({ models }, 'here').manifest.id).toBe('here');
  });

  it('rejects a closed beta for clients without beta access', () => {
    const models = [exampleManifest({ id: 'new', beta: true })];
    expect(() => resolve({ models }, 'new')).toThrow(failure('UNAUTHORIZED', 'beta'));
    expect(resolve({ models }, 'new', { betaAccess: true }).manifest.id).toBe('new');
  });

  it('restricts nothing for a model in beta status', () => {
    const models = [exampleManifest({ id: 'new', betaModel: true })];
    expect(resolve({ models }, 'new').manifest.id).toBe('new');
  });
});

describe('a model of any type', () => {
  const nested = exampleManifest({ id: 'long-story', aliases: ['org/tale'] });
  const snapshot = snapshotOf({ models: [scenario, chat, embedding, nested], online: [] });

  it.each([
    ['story', 'story'],
    ['tales', 'story'],
    ['org/tale', 'long-story'],
    ['default', 'chat'],
    ['chat:enable_web_search=on', 'chat'],
    [embedding.id, embedding.id],
  ])('is found by %s', (name, id) => {
    expect(resolveAnyModel(snapshot, name).id).toBe(id);
  });

  it('is refused if it does not exist or was removed', () => {
    const deprecation = { autoRemap: false, date: '2026-01-01', removesAt: '2026-01-01' };
    const removed = exampleManifest({ id: 'old', deprecation });
    expect(() => resolveAnyModel(snapshot, 'x'.repeat(200))).toThrow(failure('MODEL_NOT_FOUND'));
    expect(() => resolveAnyModel(snapshotOf({ models: [removed] }), 'old')).toThrow(failure('MODEL_RETIRED'));
  });
});
