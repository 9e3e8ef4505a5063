import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectLogits, logitsOf } from '#test/expected-logits';
import {
  architecturesWithLatents,
  architecturesWithSharedKeys,
  architecturesWithStates,
  convertArchitecture,
  knownTexts,
  type KnownText,
  tinyArchitectures,
} from '#test/tiny-architectures';
import { openGraph } from '../../runtime/open-graph.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import { BatchScheduler } from '../../scheduler/batch-scheduler.js';
import type { CacheRow, Decoder } from '../../scheduler/decoder.js';
import { openDecoder } from '../../scheduler/open-decoder.js';
import { RecordingListener, sequenceRequest } from '../../scheduler/recording-listener.js';
import type { WindowLimits } from '../../scheduler/window-positions.js';
import { TextTokenizer } from '../../text/index.js';

/*
 * Every architecture of the converter against the Python reference: tiny GGUF files with random weights, through the real
 * converter and the real runtime (`tools/reference/tiny_decoders.py`).
 */

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'architectures-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const converted = new Map<string, Promise<string>>();

type Layout = 'split' | 'concat';
type Weights = 'float32' | 'int8' | 'int8-channel' | 'int4';

function convert(name: string, layout: Layout, weights: Weights = 'float32'): Promise<string> {
  const key = `${name}-${layout}-${weights}`;
  const known = converted.get(key) ?? convertArchitecture(name, join(folder, key), { layout, weights });
  converted.set(key, known);
  return known;
}

async function openTiny(
  name: string,
  layout: Layout = 'split',
  { weights = 'float32', limits }: { weights?: Weights; limits?: WindowLimits } = {},
): Promise<Decoder> {
  const modelPath = join(await convert(name, layout, weights), 'model.onnx');
  const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
  return openDecoder(session, { slots: 4, windowLimits: limits });
}

/** Feeds the known tokens to rows that have read their prompts, and compares the last logits. */
async function expectContinuations(decoder: Decoder, rows: readonly CacheRow[], texts: readonly KnownText[]) {
  const steps = texts[0]?.tokens.length ?? 0;
  for (let step = 0; step < steps; step++) {
    const parts = rows.map((row, index) => ({ row, tokenId: texts[index]?.tokens[step] ?? 0 }));
    const batch = await decoder.decode(parts, 'full');
    if (step + 1 === steps) texts.forEach((text, index) => expectLogits(logitsOf(batch, index), text.last));
  }
}

async function expectAlone(decoder: Decoder, row: CacheRow, text: KnownText, pieces: readonly number[][]) {
  for (const [index, piece] of pieces.entries()) {
    const final = index + 1 === pieces.length;
    const parts = [{ row, tokenIds: Int32Array.from(piece), final }];
    const batch = await decoder.prefill(parts, final ? 'full' : 'none');
    if (final) expectLogits(logitsOf(batch, 0), text.first);
  }
  await expectContinuations(decoder, [row], [text]);
}

function cut<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size).slice(0, size));
}

describe.each(tinyArchitectures)('a tiny %s converted from GGUF', (name) => {
  const texts = knownTexts(name);
  const [long] = texts as [KnownText];
  let decoder: Decoder;
  beforeAll(async () => void (decoder = await openTiny(name)));
  afterAll(() => decoder.close());

  it.each([
    ['at once', long.promptIds.length],
    ['in chunks', 7],
  ])('computes the logits of the reference for a prompt %s', async (_, size) => {
    const row = decoder.openRow();
    await expectAlone(decoder, row, long, cut(long.promptIds, size));
    decoder.release(row);
  });

  it('computes them in a batch of different lengths', async () => {
    const rows = texts.map(() => decoder.openRow());
    const parts = rows.map((row, index) => {
      return { row, tokenIds: Int32Array.from(texts[index]?.promptIds ?? []), final: true };
    });
    const batch = await decoder.prefill(parts, 'full');
    texts.forEach((text, index) => expectLogits(logitsOf(batch, index), text.first));
    await expectContinuations(decoder, rows, texts);
    for (const row of rows) decoder.release(row);
  });

  it('computes them behind a reused prefix', async () => {
    const kept = decoder.retain(await readInChunks(decoder, long.promptIds, 7));
    const wanted = Math.floor(long.promptIds.length * 0.7);
    const length = kept.copyableLength(wanted);
    // A state is kept at the end of a chunk only.
    expect(length).toBe(architecturesWithStates.includes(name) ? wanted - (wanted % 7) : wanted);
    const row = decoder.openRow();
    decoder.copyPrefix({ from: kept, to: row, length });
    await expectAlone(decoder, row, long, [long.promptIds.slice(length)]);
    for (const each of [row, kept]) decoder.release(each);
  });

  it('writes the greedy texts of the reference', async () => {
    const tokenizer = await TextTokenizer.load(await convert(name, 'split'));
    const scheduler = new BatchScheduler({ decoder, slots: 4, contextLength: 128, cacheTokens: 512 });
    const listeners = texts.map(({ prompt, tokens }, index) => {
      const listener = new RecordingListener();
      const request = { id: `s${index}`, prompt: tokenizer.encode(prompt), listener, maxNewTokens: tokens.length };
      scheduler.submit(sequenceRequest(request));
      return listener;
    });
    for (const listener of listeners) await listener.done;
    expect(listeners.map(({ tokens }) => tokenizer.decode(tokens))).toEqual(texts.map(({ text }) => text));
  });
});

const splitOnly = [...architecturesWithStates, ...architecturesWithLatents, ...architecturesWithSharedKeys];
const keepingKeys = tinyArchitectures.filter((name) => !splitOnly.includes(name));

describe.each(keepingKeys)('a tiny %s', (name) => {
  it('computes the logits of the reference in the layout for other runtimes', async () => {
    const [long] = knownTexts(name) as [KnownText];
    const concat = await openTiny(name, 'concat');
    await expectAlone(concat, concat.openRow(), long, cut(long.promptIds, 20));
    await concat.close();
  });
});

describe('attention to latents', () => {
  it('is converted only in the layout that has them', async () => {
    await expect(openTiny('deepseek-v3', 'concat')).rejects.toThrow(
      "The converter's option `layout` must be `split` for a model whose layers attend to latents.",
    );
  });
});

describe('shared keys and values', () => {
  it('are converted only in the layout that has them', async () => {
    await expect(openTiny('gemma4', 'concat')).rejects.toThrow(
      "The converter's option `layout` must be `split` for a model whose layers share keys and values.",
    );
  });

  it('take no part of the cache', async () => {
    const decoder = await openTiny('gemma4');
    const row = await readInChunks(decoder, tokensOf(20, 1), 20);
    const before = decoder.cacheElementsFed;
    await decoder.decode([{ row, tokenId: 1 }], 'top');
    // Five of nine layers have keys and values, of two heads in 64 places. The heads of one have 16 values, others 8.
    expect(decoder.cacheElementsFed - before).toBe((16 + 4 * 8) * 2 * 2 * 64);
    await decoder.close();
  });
});

describe('experts with quantised weights', () => {
  it.each([
    ['qwen3-moe', 'int8'],
    ['qwen3-moe', 'int8-channel'],
    ['qwen3-moe', 'int4'],
    ['deepseek-v3', 'int8'],
    ['deepseek-v3', 'int8-channel'],
  ] as const)('compute the same in a batch as alone: %s in %s', async (name, weights) => {
    const texts = knownTexts(name);
    const decoder = await openTiny(name, 'split', { weights });
    const parts = texts.map(({ promptIds }) => {
      return { row: decoder.openRow(), tokenIds: Int32Array.from(promptIds), final: true };
    });
    const batch = await decoder.prefill(parts, 'full');
    const together = texts.map((_, index) => logitsOf(batch, index));
    for (const { row } of parts) decoder.release(row);
    for (const [index, { promptIds, first }] of texts.entries()) {
      const row = decoder.openRow();
      const alone = await decoder.prefill([{ row, tokenIds: Int32Array.from(promptIds), final: true }], 'full');
      const logits = logitsOf(alone, 0);
      decoder.release(row);
      expectLogits(together[index] ?? new Float32Array(), logits);
      // Rounding is visible, and far smaller than the logits.
      const error = first.reduce((sum, value, id) => sum + (value - (logits[id] ?? NaN)) ** 2, 0);
      const power = first.reduce((sum, value) => sum + value ** 2, 0);
      expect(error).toBeGreaterThan(0);
      expect(error / power).toBeLessThan(0.2);
    }
    await decoder.close();
  });
});

/** Windows of ten or twelve tokens, of which hardly more is kept. */
const narrow: WindowLimits = { grain: 4, slack: 2, head: 16 };
const withWindows = [
  'mistral',
  'phi4-mini',
  'olmo3',
  'gemma2',
  'gemma3',
  'gemma4',
  'gemma4-moe',
  'cohere2',
  'llama4',
  'gpt-oss',
];

const tokensOf = (count: number, seed: number): number[] =>
  Array.from({ length: count }, (_, index) => 1 + ((seed * 31 + index * 17 + ((index * index) % 7)) % 90));

const bytesOf = (logits: Float32Array | undefined): Buffer => Buffer.from((logits ?? new Float32Array(1)).buffer);

async function readInChunks(decoder: Decoder, promptIds: readonly number[], size: number): Promise<CacheRow> {
  const row = decoder.openRow();
  const pieces = cut(promptIds, size);
  for (const [index, piece] of pieces.entries()) {
    const final = index + 1 === pieces.length;
    await decoder.prefill([{ row, tokenIds: Int32Array.from(piece), final }], 'none');
  }
  return row;
}

describe.each(withWindows)('the cache of a tiny %s, whose layers have a window', (name) => {
  const texts = knownTexts(name);
  const [long] = texts as [KnownText];
  let decoder: Decoder;
  beforeAll(async () => void (decoder = await openTiny(name, 'split', { limits: narrow })));
  afterAll(() => decoder.close());

  it('drops what no later token sees without changing the logits, in a batch of different lengths', async () => {
    const rows: CacheRow[] = [];
    for (const { promptIds } of texts) rows.push(await readInChunks(decoder, promptIds, 7));
    await expectContinuations(decoder, rows, texts);
    expect(rows.map((row) => row.copyableLength(30))).toEqual(
      rows.map(({ length }) => (length > 40 ? 16 : Math.min(length, 30))),
    );
    for (const row of rows) decoder.release(row);
  });

  it.each([
    ['of the beginning of a long row', 30, 16],
    ['that ends where the row ends', 46, 46],
  ])('copies a prefix %s', async (_, wanted, length) => {
    const kept = decoder.retain(await readInChunks(decoder, long.promptIds, 7));
    expect(kept.copyableLength(wanted)).toBe(length);
    const row = decoder.openRow();
    decoder.copyPrefix({ from: kept, to: row, length });
    await expectAlone(decoder, row, long, cut(long.promptIds.slice(length), 7));
    const copied = decoder.retain(row);
    const again = decoder.openRow();
    decoder.copyPrefix({ from: copied, to: again, length: 12 });
    await expectAlone(decoder, again, long, cut(long.promptIds.slice(12), 5));
    for (const each of [again, copied, kept]) decoder.release(each);
  });

  it('copies a prefix that ends where its prompt did, however long the row became', async () => {
    const prompt = long.promptIds.slice(0, 44);
    const first = await readInChunks(decoder, prompt, 7);
    for (let step = 0; step < 40; step++) await decoder.decode([{ row: first, tokenId: 1 + step }], 'top');
    const kept = decoder.retain(first);
    expect([60, 44, 38].map((wanted) => kept.copyableLength(wanted))).toEqual([44, 44, 16]);
    const row = decoder.openRow();
    decoder.copyPrefix({ from: kept, to: row, length: 44 });
    await expectAlone(decoder, row, long, [long.promptIds.slice(44)]);
    for (const each of [row, kept]) decoder.release(each);
  });

  it('refuses to copy a prefix whose window was dropped', async () => {
    const kept = decoder.retain(await readInChunks(decoder, long.promptIds, 7));
    expect(() => decoder.copyPrefix({ from: kept, to: decoder.openRow(), length: 30 })).toThrow('dropped');
    decoder.release(kept);
  });

  it('gives a row of a batch the logits that it has alone, bit by bit', async () => {
    const quantised = await openTiny(name, 'split', { weights: 'int8-channel', limits: narrow });
    const lengths = [60, 4, 23];
    const decode = async (rows: CacheRow[]): Promise<Float32Array[]> => {
      let batch: LogitsBatch | null = null;
      for (let step = 0; step < 30; step++) {
        batch = await quantised.decode(
          rows.map((row) => ({ row, tokenId: 1 + ((row.length * 7) % 90) })),
          'full',
        );
      }
      const logits = rows.map((_, index) => logitsOf(batch as LogitsBatch, index));
      for (const row of rows) quantised.release(row);
      return logits;
    };
    const prompts = lengths.map((length) => tokensOf(length, length));
    const rows: CacheRow[] = [];
    for (const prompt of prompts) rows.push(await readInChunks(quantised, prompt, 8));
    const together = await decode(rows);
    for (const [index, prompt] of prompts.entries()) {
      const [alone] = await decode([await readInChunks(quantised, prompt, 8)]);
      expect(bytesOf(alone).equals(bytesOf(together[index]))).toBe(true);
    }
    await quantised.close();
  });
});

describe('layers with a window', () => {
  it('pass a part of the cache to each step, whatever the length of a row', async () => {
    const fed = async (name: string): Promise<number> => {
      const decoder = await openTiny(name, 'split', { limits: narrow });
      const row = await readInChunks(decoder, tokensOf(100, 1), 7);
      const before = decoder.cacheElementsFed;
      await decoder.decode([{ row, tokenId: 1 }], 'top');
      const elements = decoder.cacheElementsFed - before;
      await decoder.close();
      return elements;
    };
    // Both have two layers of the same size; 128 positions become 64, the least that a cache has.
    expect(await fed('mistral')).toBe((await fed('llama')) / 2);
  });

  it('let a prompt reuse what the cache has of its prefix', async () => {
    const run = async (scheduler: BatchScheduler, prompt: number[]): Promise<RecordingListener> => {
      const listener = new RecordingListener();
      scheduler.submit(sequenceRequest({ id: prompt.join(), prompt, listener, maxNewTokens: 10 }));
      return listener.done;
    };
    const open = async (): Promise<BatchScheduler> => {
      const decoder = await openTiny('gemma3', 'split', { limits: narrow });
      return new BatchScheduler({ decoder, slots: 4, contextLength: 128, cacheTokens: 512, chunkTokens: 8 });
    };
    const scheduler = await open();
    const first = tokensOf(60, 3);
    const { tokens } = await run(scheduler, first);
    const wanted: [number[], number][] = [
      // Of a prefix in the middle of the row only the beginning is left; of the whole row everything that counts.
      [[...first.slice(0, 40), ...tokensOf(20, 5)], 16],
      [[...first, ...tokens, ...tokensOf(12, 7)], first.length + tokens.length - 1],
    ];
    for (const [prompt, cachedTokens] of wanted) {
      const reused = await run(scheduler, prompt);
      expect(reused.cachedTokens).toBe(cachedTokens);
      const alone = await open();
      expect(reused.tokens).toEqual((await run(alone, prompt)).tokens);
      await alone.close();
    }
    await scheduler.close();
  });
});
