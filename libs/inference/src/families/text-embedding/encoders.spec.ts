import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddingRun } from '#test/embedding-run';
import { expectVectors } from '#test/expected-vectors';
import { hostOptions } from '#test/host-options';
import { convertTinyEncoder } from '#test/tiny-encoder';
import type { TaskEngine } from '../../contract/task.js';
import { loadTextEmbeddingFamily } from './text-embedding.family.js';

/* Encoders as their authors publish them, converted, against the reference (tools/reference/text_encoders.py, torch_encoders.py). */

const models = [
  'tiny-roberta',
  'tiny-xlm-roberta',
  'tiny-mpnet',
  'tiny-nomic-bert',
  'tiny-gte',
  'tiny-modernbert',
  'tiny-jina-v3',
  'tiny-nomic-v2',
  'tiny-jina-v2',
  'tiny-jina-v2-code',
];

interface Reference {
  texts: string[];
  ids: number[][];
  vectors: string[];
  /** Of texts that the reference has put its prefix in front of. */
  query?: string[];
}

let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-encoders-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const fixtureOf = (model: string) => new URL(`__fixtures__/${model}/`, import.meta.url);

function referenceOf(model: string): Reference {
  return JSON.parse(readFileSync(new URL('reference.json', fixtureOf(model)), 'utf8')) as Reference;
}

async function load(directory: string, batchTokens = 4_096): Promise<EmbeddingRun> {
  const run = new EmbeddingRun();
  const { engine, providerNote } = await loadTextEmbeddingFamily(
    hostOptions({ directory, family: 'text-embedding', familyOptions: { batchTokens }, contextLength: 260 }),
    run.sink,
  );
  expect(providerNote).toBeNull();
  run.engine = engine as TaskEngine;
  return run;
}

describe.each(models)('%s', (model) => {
  const { texts, ids, vectors: expected } = referenceOf(model);

  it('returns the vectors of the reference, padded in a batch and alone', async () => {
    const folder = join(home, model);
    await convertTinyEncoder(fixtureOf(model), folder);
    const run = await load(folder);
    // Texts of similar length share a run, padded.
    const batch = [...texts, ...texts];
    const { vectors, tokens } = await run.embed(batch);
    expect(tokens).toBe(2 * ids.flat().length);
    expectVectors(vectors, [...expected, ...expected], batch);
    for (const [index, text] of texts.entries()) {
      const alone = await run.embed([text]);
      expectVectors(alone.vectors, [expected[index] ?? ''], [text]);
    }
    await run.engine.close();
  });
});

describe('a model with prefixes', () => {
  it.each(['tiny-nomic-bert', 'tiny-nomic-v2'])(
    'returns the vectors of the reference for queries: %s',
    async (model) => {
      const { texts, query = [] } = referenceOf(model);
      const run = await load(join(home, model));
      const prefixed = texts.map((text) => `search_query: ${text}`);
      expectVectors((await run.embed(prefixed)).vectors, query, texts);
      await run.engine.close();
    },
  );
});

describe('positions of GTE that are scaled', () => {
  const { scaling, texts, vectors } = JSON.parse(
    readFileSync(new URL('__fixtures__/gte-ntk.json', import.meta.url), 'utf8'),
  ) as { scaling: Record<string, unknown> } & Pick<Reference, 'texts' | 'vectors'>;

  async function convertWith(scaled: Record<string, unknown>): Promise<string> {
    const [source, folder] = await Promise.all(['ntk-source-', 'ntk-'].map((name) => mkdtemp(join(home, name))));
    await cp(fixtureOf('tiny-gte'), source as string, { recursive: true });
    const path = join(source as string, 'config.json');
    const { rope_parameters: _rope, ...config } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    const older = { model_type: 'new', architectures: ['NewModel'], rope_theta: 160_000, rope_scaling: scaled };
    await writeFile(path, JSON.stringify({ ...config, ...older }));
    await convertTinyEncoder(new URL(`file://${source}/`), folder as string);
    return folder as string;
  }

  it('are those of the published models', async () => {
    const run = await load(await convertWith(scaling));
    expectVectors((await run.embed(texts)).vectors, vectors, texts);
    await run.engine.close();
  });

  it.each([
    [{ type: 'ntk', factor: 8, mixed_b: 0.3 }, 'scaled by another NTK'],
    [{ type: 'linear', factor: 2 }, 'its rotary positions are scaled'],
  ])('are refused where they are scaled otherwise: %j', async (other, problem) => {
    await expect(convertWith(other)).rejects.toThrow(problem);
  });
});

/** Settings by which the same weights are published too. */
const otherSettings: [model: string, rename: (config: Record<string, unknown>) => Record<string, unknown>][] = [
  [
    'tiny-nomic-bert',
    (config) => ({
      ...{ model_type: 'nomic_bert', architectures: ['NomicBertModel'], vocab_size: config['vocab_size'] },
      ...{ n_embd: 32, n_head: 4, n_inner: 48, n_layer: 2, n_positions: 260, rotary_emb_base: 1_000 },
      ...{ rotary_emb_fraction: 1, rotary_emb_interleaved: false, prenorm: false, activation_function: 'swiglu' },
      ...{ type_vocab_size: 2, layer_norm_epsilon: 1e-12 },
    }),
  ],
  [
    'tiny-modernbert',
    ({ rope_parameters: _rope, layer_types: _types, ...config }) => ({
      ...config,
      ...{ global_rope_theta: 160_000, local_rope_theta: 10_000, global_attn_every_n_layers: 2 },
    }),
  ],
  [
    'tiny-gte',
    ({ rope_parameters: _rope, ...config }) => ({
      ...config,
      ...{ model_type: 'new', architectures: ['NewModel'], rope_theta: 160_000, rope_scaling: null },
    }),
  ],
];

describe.each(otherSettings)('%s with the settings of older files', (model, rename) => {
  it('is the same model', async () => {
    const { texts, vectors: expected } = referenceOf(model);
    const folder = join(home, `${model}-renamed`);
    const source = join(home, `${model}-source`);
    await cp(fixtureOf(model), source, { recursive: true });
    const path = join(source, 'config.json');
    const config = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    await writeFile(path, JSON.stringify(rename(config)));
    await convertTinyEncoder(new URL(`file://${source}/`), folder);
    const run = await load(folder);
    expectVectors((await run.embed(texts)).vectors, expected, texts);
    await run.engine.close();
  });
});
