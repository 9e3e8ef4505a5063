import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddingRun } from '#test/embedding-run';
import { hostOptions } from '#test/host-options';
import { buildTinyEncoder, tinyEncoderReference, tinyEncoderSize, vectorOf } from '#test/tiny-encoder';
import { cosine } from '../../embedding/pooling.js';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import type { TaskEngine } from '../../contract/task.js';
import { loadTextEmbeddingFamily } from './text-embedding.family.js';

const reference = tinyEncoderReference();
const poolings = { mean: 'mean', cls: 'cls', last: 'lasttoken', max: 'max' } as const;

let folder: string;

beforeAll(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'sluice-encoder-')), 'model');
  await buildTinyEncoder(folder);
});
afterAll(() => rm(join(folder, '..'), { recursive: true, force: true }));

async function load(familyOptions: HostLoadOptions['familyOptions'] = {}, contextLength = 128, threads = 1) {
  const run = new EmbeddingRun();
  const loaded = await loadTextEmbeddingFamily(
    hostOptions({
      directory: folder,
      family: 'text-embedding',
      familyOptions,
      intraOpThreads: threads,
      contextLength,
    }),
    run.sink,
  );
  run.engine = loaded.engine as TaskEngine;
  return { run, loaded };
}

describe('a text-embedding model', () => {
  it.each(Object.entries(poolings))('returns the vectors of the reference with %s pooling', async (pooling, name) => {
    const { run } = await load({ pooling });
    const { vectors, tokens } = await run.embed(reference.texts);
    for (const [index, vector] of vectors.entries()) {
      const expected = vectorOf(reference.vectors[name][index] ?? '');
      expect([reference.texts[index], vector.length]).toEqual([reference.texts[index], tinyEncoderSize]);
      expect(cosine(vector, expected), reference.texts[index]).toBeGreaterThan(0.999999);
      expect(Math.max(...vector.map((value, at) => Math.abs(value - (expected[at] ?? 0))))).toBeLessThan(1e-5);
    }
    expect(tokens).toBe(reference.ids.flat().length);
    await run.engine.close();
  });

  it('reads pooling and normalization from the files beside the graph, and prefers the manifest', async () => {
    const inFiles = await load();
    const [fromFiles] = (await inFiles.run.embed(['Hello.'])).vectors;
    expect(cosine(fromFiles ?? new Float32Array(), vectorOf(reference.vectors.mean[0] ?? ''))).toBeGreaterThan(
      0.999999,
    );
    const [plain] = (await (await load({ normalize: false })).run.embed(['Hello.'])).vectors;
    const norm = Math.hypot(...(plain ?? []));
    expect(norm).not.toBeCloseTo(1, 3);
    expect(cosine(plain ?? new Float32Array(), fromFiles ?? new Float32Array())).toBeGreaterThan(0.999999);
  });

  it('returns the same vector for a text alone and in a batch', async () => {
    const { run, loaded } = await load();
    expect(loaded.providerNote).toBeNull();
    const together = await Promise.all(reference.texts.map((text) => run.embed([text, text])));
    for (const [index, text] of reference.texts.entries()) {
      const [alone] = (await run.embed([text])).vectors;
      const vector = together[index]?.vectors[1];
      expect(cosine(alone ?? new Float32Array(), vector ?? new Float32Array())).toBeGreaterThan(0.999999);
    }
    // Twenty-four texts need far fewer runs than texts.
    expect(run.engine.stats().stepsTotal).toBeLessThan(reference.texts.length + 12);
  });

  it.each([
    { threads: 1, runs: 2 },
    { threads: 2, runs: 1 },
    { threads: 4, runs: 1 },
  ])('needs $runs runs for 512 tokens with $threads threads', async ({ threads, runs }) => {
    const { run } = await load({}, 128, threads);
    // 64 tokens each, special tokens included.
    await run.embed(Array.from({ length: 8 }, () => 'river '.repeat(62)));
    expect(run.engine.stats().stepsTotal).toBe(runs);
    await run.engine.close();
  });

  it('returns the same vectors for the ids of its own tokenizer', async () => {
    const { run } = await load();
    const [own] = (await run.embed([reference.texts[1] ?? ''])).vectors;
    const { vectors, tokens } = await run.embed({ tokenIds: [reference.ids[1] ?? []] });
    expect([vectors[0], tokens]).toEqual([own, reference.ids[1]?.length]);
    await expect(run.embed({ tokenIds: [[5, 6]] })).rejects.toThrow('INVALID_REQUEST');
  });

  it('truncates vectors and normalizes them again', async () => {
    const { run } = await load();
    const [short] = (await run.embed(['Hello.'], 8)).vectors;
    const whole = vectorOf(reference.vectors.mean[0] ?? '').slice(0, 8);
    expect(short).toHaveLength(8);
    expect(Math.hypot(...(short ?? []))).toBeCloseTo(1, 6);
    expect(cosine(short ?? new Float32Array(), whole)).toBeGreaterThan(0.999999);
  });

  it('rejects a text longer than the model or the manifest allows, and computes nothing', async () => {
    const { run } = await load({}, 10);
    const steps = run.engine.stats().stepsTotal;
    await expect(run.embed(['Hello.', 'the river was happy '.repeat(4)])).rejects.toThrow(
      'length is 10 tokens. However, the text at position 1 has 18 tokens. (input[1])',
    );
    await expect(run.embed(['river '.repeat(100_000)])).rejects.toThrow(/^TOO_MANY_TOKENS: .* the input has more than/);
    expect(run.engine.stats().stepsTotal).toBe(steps);
    const wide = await load({}, 100_000);
    await expect(wide.run.embed(['river '.repeat(127)])).rejects.toThrow(
      /length is 128 tokens. However, the input has 129 tokens/,
    );
  });

  it('rejects unknown settings', async () => {
    await expect(load({ pooling: 'median' })).rejects.toMatchObject({ code: 'INVALID_MANIFEST' });
    await expect(load({ batchTokens: 0 })).rejects.toMatchObject({ code: 'INVALID_MANIFEST' });
    const path = join(folder, 'modules.json');
    const modules = await readFile(path, 'utf8');
    await writeFile(path, modules.replace('models.Normalize', 'models.Dense'));
    await expect(load()).rejects.toThrow('its layers behind the pooling are not in the graph');
    await writeFile(path, modules);
  });
});
