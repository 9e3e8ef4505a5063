import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logitsOf } from '#test/expected-logits';
import { architecturesWithStates, convertArchitecture, tinyArchitectures } from '#test/tiny-architectures';
import type { TextGenerationRequest } from '#inference/host';
import { buildTinyModel } from '#test/tiny-models';
import { FamilyRun } from '../../../../../test/conformance/families/family-run.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { CacheRow, Decoder } from '../../scheduler/decoder.js';
import { openDecoder } from '../../scheduler/open-decoder.js';
import { loadDecoderFamily } from './decoder.family.js';

/* Drafts in the real runtime: which graphs take them, and what they leave in the cache. */

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'drafts-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function open(modelPath: string): Promise<Decoder> {
  const options = { modelPath, providers: ['cpu'], intraOpThreads: 1, picksLogits: true };
  // Windows drop positions early, so that they do so within a draft.
  return openDecoder(await openGraph(options), { slots: 4, windowLimits: { grain: 2, slack: 1, head: 4 } });
}

const tokensOf = (count: number, seed: number): Int32Array =>
  Int32Array.from({ length: count }, (_, index) => 1 + ((seed * 31 + index * 17 + ((index * index) % 7)) % 90));

async function read(decoder: Decoder, tokenIds: Int32Array): Promise<CacheRow> {
  const row = decoder.openRow();
  await decoder.prefill([{ row, tokenIds, final: true }], 'none');
  return row;
}

/** Logits behind each of the tokens, computed one by one. */
async function oneByOne(decoder: Decoder, row: CacheRow, tokenIds: Int32Array): Promise<Float32Array[]> {
  const logits: Float32Array[] = [];
  for (const tokenId of tokenIds) logits.push(logitsOf(await decoder.decode([{ row, tokenId }], 'full'), 0).slice());
  return logits;
}

function expectClose(actual: Float32Array | undefined, expected: Float32Array | undefined): void {
  expect(actual?.length).toBe(expected?.length);
  const differences = actual?.map((value, id) => Math.abs(value - (expected?.[id] ?? Number.NaN))) ?? [Number.NaN];
  expect(Math.max(...differences)).toBeLessThan(1e-3);
}

const takesDrafts = tinyArchitectures.filter((name) => !architecturesWithStates.includes(name));

describe.each(takesDrafts)('a tiny %s', (name) => {
  it('computes drafts of two rows as one token after the other, and keeps what is taken', async () => {
    const decoder = await open(join(await convertArchitecture(name, join(folder, name), {}), 'model.onnx'));
    try {
      expect(decoder.takesDrafts).toBe(true);
      const texts = [tokensOf(24, 1), tokensOf(19, 2)];
      const expected: Float32Array[][] = [];
      for (const text of texts) {
        const row = await read(decoder, text.subarray(0, 12));
        expected.push(await oneByOne(decoder, row, text.subarray(12)));
        decoder.release(row);
      }
      const rows = [await read(decoder, tokensOf(12, 1)), await read(decoder, tokensOf(12, 2))];
      const drafts = [texts[0]?.subarray(13, 17) ?? [], texts[1]?.subarray(13, 15) ?? []].map((ids) =>
        Int32Array.from(ids),
      );
      const parts = rows.map((row, index) => ({ row, tokenId: texts[index]?.[12] ?? 0, draft: drafts[index] }));
      const batch = await decoder.decode(parts, 'full');
      drafts.forEach((draft, index) => {
        for (let step = 0; step <= draft.length; step++) {
          const place = { ...batch, rowIndexes: Int32Array.of((batch.rowIndexes[index] ?? 0) + step) };
          expectClose(logitsOf(place, 0), expected[index]?.[step]);
        }
      });
      // The first row takes two of four tokens; the other one leaves.
      const [first, second] = rows as [CacheRow, CacheRow];
      decoder.takeDrafted?.(first);
      decoder.release(second);
      decoder.takeDrafted?.(first);
      expect(first.length).toBe(15);
      const rest = await oneByOne(decoder, first, texts[0]?.subarray(15) ?? new Int32Array(0));
      rest.forEach((logits, index) => expectClose(logits, expected[0]?.[3 + index]));
    } finally {
      await decoder.close();
    }
  });
});

describe('drafts are not taken', () => {
  it.each(architecturesWithStates)('by a graph with a state per row: %s', async (name) => {
    const decoder = await open(join(await convertArchitecture(name, join(folder, name), {}), 'model.onnx'));
    expect(decoder.takesDrafts).toBe(false);
    const row = await read(decoder, tokensOf(12, 1));
    const decoded = decoder.decode([{ row, tokenId: 5, draft: Int32Array.of(6, 7) }], 'top');
    await expect(decoded).rejects.toThrow('The graph takes no drafts.');
    await decoder.close();
  });

  it.each(['concat', 'group-query'] as const)('by a graph that returns its whole cache: %s', async (layout) => {
    const path = join(folder, layout);
    const { graphFile } = await buildTinyModel(path, { layout });
    const decoder = await open(join(path, graphFile));
    expect(decoder.takesDrafts ?? false).toBe(false);
    await decoder.close();
  });

  it('by a graph that was opened without them', async () => {
    const path = join(folder, 'plain');
    const { graphFile } = await buildTinyModel(path);
    const session = await openGraph({ modelPath: join(path, graphFile), providers: ['cpu'], intraOpThreads: 1 });
    const decoder = openDecoder(session, { slots: 2 });
    expect(decoder.takesDrafts).toBe(false);
    await decoder.close();
  });
});

describe('a request', () => {
  const schema = {
    type: 'object',
    properties: { rows: { type: 'array', items: { type: 'string' } } },
    required: ['rows'],
    additionalProperties: false,
  };
  // A model of random weights repeats itself where it prefers few tokens.
  const logitBias = { 300: 34, 320: 30 };
  const content = 'The river was happy and the bird sang by the river. '.repeat(4);

  it('has the same events with drafts as without', async () => {
    const path = join(folder, 'family');
    const { id, graphFile, family, contextLength = 0 } = await buildTinyModel(path);
    const results: unknown[] = [];
    for (const draftTokens of [0, 8]) {
      const run = await FamilyRun.load(loadDecoderFamily, {
        modelId: id,
        directory: path,
        graphFile,
        family,
        familyOptions: {},
        providers: ['cpu'],
        intraOpThreads: 1,
        slots: 4,
        contextLength,
        cacheTokens: 4 * contextLength,
        draftTokens,
      });
      const accepts: boolean[] = [];
      const ask = async (overrides: Partial<TextGenerationRequest>) => {
        const before = run.engine.stats().acceptedDraftTokensTotal;
        const sampling = { temperature: 0, logitBias };
        const { logprobs, ...result } = await run.ask(content, { maxTokens: 90, sampling, ...overrides });
        accepts.push(run.engine.stats().acceptedDraftTokensTotal > before);
        return { ...result, logprobs: logprobs.map(({ token, logprob }) => [token, logprob.toFixed(2)]) };
      };
      const long = await ask({ topLogprobs: 2 });
      results.push([
        long,
        await ask({ stop: [long.texts[0]?.slice(0, 150) ?? ''] }),
        await ask({ n: 2 }),
        await ask({ constraint: { type: 'json-schema', schema, param: 'schema' } }),
        await ask({ sampling: { temperature: 0, frequencyPenalty: 0.1, logitBias } }),
        await ask({ sampling: { temperature: 1, seed: 4, logitBias } }),
      ]);
      // A reproducible text is computed token by token.
      expect(accepts).toEqual([...new Array<boolean>(5).fill(draftTokens > 0), false]);
      await run.engine.close();
    }
    expect(results[1]).toEqual(results[0]);
  });
});
