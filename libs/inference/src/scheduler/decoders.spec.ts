import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { multipliesRowsAlike } from '#test/row-kernels';
import { buildTinyModel, type TinyModelOptions } from '#test/tiny-models';
import { openGraph } from '../runtime/open-graph.js';
import type { GraphSession } from '../runtime/graph-session.js';
import type { LogitsBatch } from '../sampling/logits-batch.js';
import { BatchScheduler } from './batch-scheduler.js';
import { isBatchInvariant } from './batch-invariance.js';
import type { CacheRow, DecodePart, Decoder } from './decoder.js';
import { openDecoder } from './open-decoder.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';
import type { SequenceRequest } from './sequence.js';

/* Tests every kind of decoder on the real runtime, with tiny random models. */

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'decoders-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of opened.splice(0)) await part.close();
});

const built = new Map<string, Promise<string>>();

async function openSession(options: TinyModelOptions): Promise<GraphSession> {
  const name = [options.shape ?? 'llama', options.layout ?? 'split', options.dtype ?? 'float32'].join('-');
  const path = join(folder, options.externalData ? `${name}-external` : name);
  const graph = built.get(path) ?? buildTinyModel(path, options).then(({ graphFile }) => join(path, graphFile));
  built.set(path, graph);
  return openGraph({ modelPath: await graph, providers: ['cpu'], intraOpThreads: 1 });
}

async function openTiny(options: TinyModelOptions): Promise<Decoder> {
  const decoder = openDecoder(await openSession(options), { slots: 8 });
  opened.push(decoder);
  return decoder;
}

const promptOf = (length: number, first = 1): number[] =>
  Array.from({ length }, (_, index) => 260 + ((first * 31 + index * 17 + ((index * index) % 7)) % 170));

/** Texts of requests that arrive one after the other while others run. */
async function generate(
  decoder: Decoder,
  prompts: readonly number[][],
  members: Partial<SequenceRequest> = {},
  slots = 8,
): Promise<number[][]> {
  const scheduler = new BatchScheduler({ decoder, slots, contextLength: 256, cacheTokens: 2048 });
  const listeners: RecordingListener[] = [];
  const submitNext = (): undefined => {
    const prompt = prompts[listeners.length];
    if (!prompt) return;
    // The next request arrives with the third token of this one.
    const listener = new RecordingListener((_, count) => (count === 3 ? submitNext() : undefined));
    const id = `s${listeners.length}`;
    listeners.push(listener);
    const maxNewTokens = 12 + ((listeners.length * 7) % 20);
    scheduler.submit(sequenceRequest({ id, prompt, listener, maxNewTokens, ...members }));
  };
  submitNext();
  for (let index = 0; index < prompts.length; index++) await listeners[index]?.done;
  for (const { failure } of listeners) expect(failure).toBeNull();
  return listeners.map(({ tokens }) => tokens);
}

async function generateAlone(
  decoder: Decoder,
  prompts: readonly number[][],
  members: Partial<SequenceRequest> = {},
): Promise<number[][]> {
  const texts: number[][] = [];
  for (const [index, prompt] of prompts.entries()) {
    const maxNewTokens = 12 + (((index + 1) * 7) % 20);
    texts.push(...(await generate(decoder, [prompt], { maxNewTokens, ...members }, 1)));
  }
  return texts;
}

const prompts = [12, 5, 33, 20, 64, 3, 100, 130, 1].map((length, index) => promptOf(length, index + 1));

describe.each([
  { shape: 'llama', dtype: 'float32' },
  { shape: 'llama', dtype: 'int4' },
  { shape: 'llama', dtype: 'int8' },
  { shape: 'llama', dtype: 'int8-channel' },
  { shape: 'phi', dtype: 'int8-channel' },
  { shape: 'qwen', dtype: 'float32' },
  { shape: 'phi', dtype: 'float32' },
] as const)('the split decoder of a tiny $shape in $dtype', (options) => {
  it('generates the same greedy text for a sequence in a batch and alone, token by token', async () => {
    const batched = await generate(await openTiny(options), prompts);
    const alone = await generateAlone(await openTiny(options), prompts);
    expect(batched).toEqual(alone);
    expect(new Set(batched.flat()).size).toBeGreaterThan(20);
  });

  it('draws the same text for a seed in any batch', async () => {
    const members = { sampling: { temperature: 0.8, topP: 0.95, seed: 9 } };
    const batched = await generate(await openTiny(options), prompts, members);
    expect(batched).toEqual(await generateAlone(await openTiny(options), prompts, members));
  });
});

describe('layouts of the same weights', () => {
  it.each(['llama', 'qwen', 'phi'] as const)('agree on greedy texts of a tiny %s', async (shape) => {
    const split = await generate(await openTiny({ shape }), prompts);
    const concat = await generate(await openTiny({ shape, layout: 'concat' }), prompts);
    expect(concat).toEqual(split);
  });

  it('agree with GroupQueryAttention', async () => {
    const split = await generate(await openTiny({ shape: 'llama' }), prompts);
    expect(await generate(await openTiny({ shape: 'llama', layout: 'group-query' }), prompts)).toEqual(split);
  });

  it.each([
    { layout: 'concat', dtype: 'float16' },
    { layout: 'concat', dtype: 'int4' },
    { layout: 'group-query', dtype: 'int8' },
  ] as const)('generate the same text in a batch as alone: $layout in $dtype', async (options) => {
    const batched = await generate(await openTiny(options), prompts);
    expect(batched).toEqual(await generateAlone(await openTiny(options), prompts));
  });

  it('load weights that are stored beside the graph', async () => {
    const inside = await generate(await openTiny({}), prompts.slice(0, 2));
    expect(await generate(await openTiny({ externalData: true }), prompts.slice(0, 2))).toEqual(inside);
  });
});

/** Fills rows with different prompts and returns them, ready to decode. */
async function prefilled(decoder: Decoder, lengths: readonly number[]): Promise<CacheRow[]> {
  const rows: CacheRow[] = [];
  for (const [index, length] of lengths.entries()) {
    const row = decoder.openRow();
    await decoder.prefill([{ row, tokenIds: Int32Array.from(promptOf(length, index + 1)), final: true }], 'none');
    rows.push(row);
  }
  return rows;
}

function hasSameBits(left: Float32Array | undefined, right: Float32Array | undefined): boolean {
  return left !== undefined && right !== undefined && Buffer.from(left.buffer).equals(Buffer.from(right.buffer));
}

function rowOf(batch: LogitsBatch, index: number): Float32Array {
  const start = (batch.rowIndexes[index] ?? 0) * batch.vocabularySize;
  return (batch.logits ?? new Float32Array(0)).slice(start, start + batch.vocabularySize);
}

describe('rows of one batch', () => {
  const lengths = [12, 5, 33, 20, 64, 3];

  /** All logits of the token after each of these prompts, decoded in one batch. */
  async function decodedTogether(
    dtype: TinyModelOptions['dtype'],
    prompts: readonly number[],
  ): Promise<Float32Array[]> {
    const decoder = await openTiny({ dtype });
    const parts: DecodePart[] = [];
    for (const prompt of prompts) {
      const row = decoder.openRow();
      const tokenIds = Int32Array.from(promptOf(lengths[prompt] as number, prompt + 1));
      await decoder.prefill([{ row, tokenIds, final: true }], 'none');
      parts.push({ row, tokenId: 300 + prompt });
    }
    const batch = await decoder.decode(parts, 'full');
    return prompts.map((_, index) => rowOf(batch, index));
  }

  const all = [...lengths.keys()];

  it('have logits bitwise equal to those of the row alone: int8-channel', async () => {
    const together = await decodedTogether('int8-channel', all);
    for (const prompt of all) {
      const [alone] = await decodedTogether('int8-channel', [prompt]);
      expect(hasSameBits(alone, together[prompt])).toBe(true);
    }
    expect(await isBatchInvariant(await openTiny({ dtype: 'int8-channel' }))).toBe(true);
  });

  it('have logits bitwise equal to those of the row alone where the kernels of this processor are: int4', async () => {
    const together = await decodedTogether('int4', all);
    const comparisons: boolean[] = [];
    for (const prompt of all) {
      const [alone] = await decodedTogether('int4', [prompt]);
      comparisons.push(hasSameBits(alone, together[prompt]));
      alone?.forEach((logit, id) => expect(Math.abs(logit - (together[prompt]?.[id] ?? NaN))).toBeLessThan(1e-4));
    }
    const isInvariant = await multipliesRowsAlike({ bits: 4, blockSize: 32 });
    if (isInvariant) expect(comparisons).toEqual(all.map(() => true));
    else expect(comparisons).toContain(false);
    expect(await isBatchInvariant(await openTiny({ dtype: 'int4' }))).toBe(isInvariant);
  });

  it('have the same bits in every batch of two rows or more: int4', async () => {
    const together = await decodedTogether('int4', all);
    for (const pair of [
      [0, 1],
      [5, 2, 4],
      [3, 0, 1, 5, 2],
    ]) {
      const fewer = await decodedTogether('int4', pair);
      pair.forEach((prompt, index) => expect(hasSameBits(fewer[index], together[prompt])).toBe(true));
    }
  });

  it('are found to depend on the batch if their logits do', async () => {
    const decoder = await openTiny({ dtype: 'int8-channel' });
    const { decode } = decoder;
    decoder.decode = async (parts, wanted) => {
      const batch = await decode.call(decoder, parts, wanted);
      if (parts.length > 1 && batch.logits) batch.logits[batch.logits.length - 1]! += 1e-6;
      return batch;
    };
    expect(await isBatchInvariant(decoder)).toBe(false);
  });

  it('have the top candidates and log-sum-exp that all logits imply', async () => {
    const decoder = await openTiny({});
    const rows = await prefilled(decoder, [9, 17]);
    const batch = await decoder.decode(
      rows.map((row) => ({ row, tokenId: 301 })),
      'full',
    );
    const logits = rowOf(batch, 1);
    const best = [...logits.keys()].sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b);
    const start = (batch.rowIndexes[1] ?? 0) * batch.topSize;
    expect([...(batch.topIds ?? []).slice(start, start + 10)]).toEqual(best.slice(0, 10));
    const sum = logits.reduce((total, value) => total + Math.exp(value), 0);
    expect(batch.logSumExp?.[batch.rowIndexes[1] ?? 0]).toBeCloseTo(Math.log(sum), 4);
  });

  it('can be repeated for every logit without changing what follows', async () => {
    const decoder = await openTiny({});
    const rows = await prefilled(decoder, [9, 17]);
    const parts = rows.map((row) => ({ row, tokenId: 301 }));
    const top = await decoder.decode(parts, 'top');
    const all = await decoder.repeatForLogits();
    expect(top.logits).toBeNull();
    expect(rows.map(({ length }) => length)).toEqual([10, 18]);
    expect(Math.max(...rowOf(all, 0))).toBe(top.topValues?.[(top.rowIndexes[0] ?? 0) * top.topSize]);
  });
});

describe('prefixes', () => {
  it.each(['split', 'concat', 'group-query'] as const)('are reused without changing a text: %s', async (layout) => {
    const shared = promptOf(140, 5);
    const first = [...shared, 300, 301];
    const second = [...shared, 310, 311, 312];
    const decoder = await openTiny({ layout });
    const scheduler = new BatchScheduler({ decoder, slots: 2, contextLength: 256, cacheTokens: 2048 });
    const run = (id: string, prompt: number[]): Promise<RecordingListener> => {
      const listener = new RecordingListener();
      scheduler.submit(sequenceRequest({ id, prompt, listener, maxNewTokens: 16 }));
      return listener.done;
    };
    await run('a', first);
    const reused = await run('b', second);
    expect(reused.cachedTokens).toBe(layout === 'split' ? 140 : 128);
    const [fresh] = await generate(await openTiny({ layout }), [second], { maxNewTokens: 16 });
    expect(reused.tokens).toEqual(fresh);
  });
});
