import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertDrafted, embeddingFixtures as fixtures } from '#test/drafted-model';
import { EmbeddingRun } from '#test/embedding-run';
import { expectVectors } from '#test/expected-vectors';
import { draftedOptions } from '#test/host-options';
import type { TaskEngine } from '../../contract/task.js';
import { loadTextEmbeddingFamily } from './text-embedding.family.js';

/*
 * Decoders that are embedding models, and encoders in GGUF files or with layers behind their pooling, against the
 * reference (tools/reference/pooling_models.py): through the draft, the converter and the runtime.
 */

interface Reference {
  texts: string[];
  ids: number[][];
  vectors: string[];
  /** Vectors of texts that the reference has put its prefix in front of. */
  query?: string[];
  document?: string[];
}

function referenceOf(model: string): Reference {
  return JSON.parse(readFileSync(new URL(`${model}/reference.json`, fixtures), 'utf8')) as Reference;
}

let home: string;

beforeAll(async () => void (home = await mkdtemp(join(tmpdir(), 'sluice-embedding-decoders-'))));
afterAll(() => rm(home, { recursive: true, force: true }));

async function load(
  model: Awaited<ReturnType<typeof convertDrafted>>,
  familyOptions: Record<string, string> = {},
): Promise<EmbeddingRun> {
  const run = new EmbeddingRun();
  const options = { familyOptions: { ...model.manifest.familyOptions, ...familyOptions, batchTokens: 4_096 } };
  const { engine, providerNote } = await loadTextEmbeddingFamily(draftedOptions(model, options), run.sink);
  expect(providerNote).toBeNull();
  run.engine = engine as TaskEngine;
  return run;
}

const sources: [source: string, reference: string, summary: object][] = [
  ['tiny-qwen3-embedding/', 'tiny-qwen3-embedding', { pooling: 'last' }],
  ['tiny-e5-mistral/', 'tiny-e5-mistral', { pooling: 'last' }],
  ['tiny-gte-qwen2/', 'tiny-gte-qwen2', { pooling: 'last' }],
  ['tiny-embeddinggemma/', 'tiny-embeddinggemma', { pooling: 'mean' }],
  ['gguf/tiny-qwen3-embedding.gguf', 'tiny-qwen3-embedding', { pooling: 'last' }],
  ['gguf/tiny-embeddinggemma.gguf', 'tiny-embeddinggemma', { pooling: 'mean' }],
];

describe.each(sources)('%s', (source, reference, options) => {
  const { texts, ids, vectors: expected } = referenceOf(reference);

  it('returns the vectors of the reference, padded in a batch and alone', async () => {
    const model = await convertDrafted(new URL(source, fixtures), home, { weights: 'float32' });
    expect(model.manifest).toMatchObject({ type: 'embedding', family: 'text-embedding', converter: { options } });
    const run = await load(model);
    const batch = [...texts, ...texts];
    const { vectors, tokens } = await run.embed(batch);
    expect(tokens).toBe(2 * ids.flat().length);
    expectVectors(vectors, [...expected, ...expected], batch);
    for (const [index, text] of texts.entries()) {
      const alone = await run.embed([text]);
      expect(alone.tokens).toBe(ids[index]?.length);
      expectVectors(alone.vectors, [expected[index] ?? ''], [text]);
    }
    await run.engine.close();
  });
});

describe('an embedding model made of a decoder', () => {
  it.each(['tiny-qwen3-embedding', 'tiny-embeddinggemma'])('has the prefixes of its authors: %s', async (name) => {
    const { texts: all, query = [], document } = referenceOf(name);
    // The longest leaves no room for a prefix.
    const texts = all.filter((text) => text.length < 200);
    const model = await convertDrafted(new URL(`${name}/`, fixtures), home);
    const { queryPrefix, documentPrefix = '' } = model.manifest.familyOptions ?? {};
    const run = await load(model);
    expectVectors((await run.embed(texts.map((text) => `${queryPrefix}${text}`))).vectors, query, texts);
    if (document === undefined) expect(documentPrefix).toBe('');
    else expectVectors((await run.embed(texts.map((text) => `${documentPrefix}${text}`))).vectors, document, texts);
    await run.engine.close();
  });
});

describe('the manifest of an embedding model made of a decoder', () => {
  it.each([
    [{ pooling: 'mean' }, 'familyOptions.pooling has no effect: the graph pools by itself.'],
    [{ endToken: '<none>' }, 'familyOptions.endToken is <none>, which is no token of this model.'],
    [{ endToken: '' }, 'familyOptions.endToken must be the text of a token.'],
  ])('is refused with %j', async (familyOptions, message) => {
    const model = await convertDrafted(new URL('tiny-qwen3-embedding/', fixtures), home);
    await expect(load(model, familyOptions)).rejects.toMatchObject({ code: 'INVALID_MANIFEST', message });
  });

  it('limits texts to its positions, and the longest is computed', async () => {
    const model = await convertDrafted(new URL('tiny-qwen3-embedding/', fixtures), home);
    const run = await load(model);
    // A word is a token, and one ends the text.
    const words = (count: number) => ' the'.repeat(count);
    const { tokens, vectors } = await run.embed([words(255)]);
    expect(tokens).toBe(256);
    expect(Math.hypot(...(vectors[0] ?? []))).toBeCloseTo(1, 5);
    await expect(run.embed([words(256)])).rejects.toThrow(
      /^TOO_MANY_TOKENS: .* 256 tokens. However, the input has 257/,
    );
    await run.engine.close();
  });
});

describe('an encoder', () => {
  it.each([
    ['tiny-nomic-v2', { queryPrefix: 'search_query: ', documentPrefix: 'search_document: ' }],
    ['tiny-jina-v2', undefined],
    ['tiny-jina-v2-code', undefined],
  ])('is added from its folder: %s', async (name, familyOptions) => {
    const { texts, vectors } = referenceOf(name);
    const model = await convertDrafted(new URL(`${name}/`, fixtures), home);
    expect(model.manifest).toMatchObject({
      ...{ type: 'embedding', converter: { kind: 'bert' } },
      kindMembers: { embeddingDimensions: name === 'tiny-jina-v2' ? 48 : 32, maxInputTokens: 260 },
    });
    expect(model.manifest.familyOptions).toEqual(familyOptions);
    const run = await load(model);
    expectVectors((await run.embed(texts)).vectors, vectors, texts);
    await run.engine.close();
  });

  it.each([
    ['tiny-bert', 'mean'],
    ['tiny-nomic-bert', 'mean'],
    ['tiny-xlm-roberta', 'cls'],
    ['tiny-nomic-v2', 'mean'],
    ['tiny-jina-v2', 'mean'],
    ['tiny-jina-v2', 'mean', 'tiny-jina-v2-apart'],
  ])('of a GGUF file has the vectors of its safetensors: %s', async (name, pooling, file = name) => {
    const { texts, vectors, withoutBias } = JSON.parse(
      readFileSync(new URL(`${name}/reference.json`, fixtures), 'utf8'),
    ) as { texts: string[]; vectors: string[] | { mean: string[] }; withoutBias?: string[] };
    // Files of llama.cpp lack the bias behind experts.
    const expected = withoutBias ?? (Array.isArray(vectors) ? vectors : vectors.mean);
    // The file of pieces has no rules of normalization, and joins spaces where the fixture keeps them.
    const isPlain = (text: string) =>
      !['tiny-xlm-roberta', 'tiny-nomic-v2'].includes(name) ||
      text === text.normalize('NFKC').trim().replaceAll(/ {2,}/g, ' ');
    const plain = texts.filter(isPlain);
    expect(plain.length).toBeGreaterThan(3);
    const model = await convertDrafted(new URL(`gguf/${file}.gguf`, fixtures), home);
    expect(model.manifest).toMatchObject({ type: 'embedding', familyOptions: { pooling, normalize: true } });
    const run = await load(model);
    const { vectors: found } = await run.embed(plain);
    expectVectors(
      found,
      expected.filter((_vector, index) => isPlain(texts[index] ?? '')),
      plain,
    );
    await run.engine.close();
  });

  it('computes the layers behind its pooling', async () => {
    const { texts, vectors } = referenceOf('tiny-labse');
    const model = await convertDrafted(new URL('tiny-labse/', fixtures), home);
    expect(model.manifest).toMatchObject({ converter: { kind: 'bert' }, kindMembers: { embeddingDimensions: 24 } });
    const run = await load(model);
    expectVectors((await run.embed(texts)).vectors, vectors, texts);
    for (const [index, text] of texts.entries()) {
      expectVectors((await run.embed([text])).vectors, [vectors[index] ?? ''], [text]);
    }
    await run.engine.close();
  });
});
