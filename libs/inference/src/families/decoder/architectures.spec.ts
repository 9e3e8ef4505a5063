import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertModel } from '#model-store';
import { OrtSession } from '../../runtime/ort-session.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import { BatchScheduler } from '../../scheduler/batch-scheduler.js';
import type { CacheRow, Decoder } from '../../scheduler/decoder.js';
import { openDecoder } from '../../scheduler/open-decoder.js';
import { RecordingListener, sequenceRequest } from '../../scheduler/recording-listener.js';
import { TextTokenizer } from '../../text/index.js';

/*
 * Every architecture of the converter against the Python reference: tiny GGUF files with random weights, through the real
 * converter and the real runtime (`tools/reference/tiny_decoders.py`).
 */

interface Known {
  prompt: string;
  promptIds: number[];
  text: string;
  tokens: number[];
  /** Logits after the prompt, and after the last token. */
  first: number[];
  last: number[];
}

interface KnownModel {
  /** Of the conversion; absent: the file's. */
  contextLength?: number;
  file: string;
  texts: Known[];
}

const fixtures = new URL('./__fixtures__/architectures/', import.meta.url);
const models = JSON.parse(readFileSync(new URL('expected.json', fixtures), 'utf8')) as Record<string, KnownModel>;
const tolerance = 1e-4;

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'architectures-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const converted = new Map<string, Promise<string>>();

type Layout = 'split' | 'concat';
type Weights = 'float32' | 'int8' | 'int8-channel' | 'int4';

function convert(name: string, layout: Layout, weights: Weights = 'float32'): Promise<string> {
  const key = `${name}-${layout}-${weights}`;
  const known = converted.get(key) ?? convertNow(name, { layout, weights }, join(folder, key));
  converted.set(key, known);
  return known;
}

async function convertNow(
  name: string,
  format: { layout: Layout; weights: Weights },
  outputFolder: string,
): Promise<string> {
  const { file, contextLength } = models[name] as KnownModel;
  const inputFolder = `${outputFolder}-source`;
  for (const path of [inputFolder, outputFolder]) await mkdir(path);
  await copyFile(new URL(`${file}.gguf`, fixtures), join(inputFolder, 'tiny.gguf'));
  const options = { ...format, ...(contextLength !== undefined && { contextLength }) };
  await convertModel({ kind: 'gguf', inputFolder, outputFolder, options });
  return outputFolder;
}

async function openTiny(name: string, layout: Layout = 'split', weights: Weights = 'float32'): Promise<Decoder> {
  const modelPath = join(await convert(name, layout, weights), 'model.onnx');
  return openDecoder(await OrtSession.open({ modelPath, providers: ['cpu'], intraOpThreads: 1 }), { slots: 4 });
}

function logitsOf(batch: LogitsBatch, index: number): Float32Array {
  const start = (batch.rowIndexes[index] ?? 0) * batch.vocabularySize;
  return (batch.logits ?? new Float32Array()).slice(start, start + batch.vocabularySize);
}

function expectLogits(actual: Float32Array, wanted: readonly number[]): void {
  expect(actual.length).toBe(wanted.length);
  const furthest = wanted.reduce((far, value, id) => Math.max(far, Math.abs(value - (actual[id] ?? NaN))), 0);
  expect(furthest).toBeLessThan(tolerance);
}

/** Feeds the known tokens to rows that have read their prompts, and compares the last logits. */
async function expectContinuations(decoder: Decoder, rows: readonly CacheRow[], texts: readonly Known[]) {
  const steps = texts[0]?.tokens.length ?? 0;
  for (let step = 0; step < steps; step++) {
    const parts = rows.map((row, index) => ({ row, tokenId: texts[index]?.tokens[step] ?? 0 }));
    const batch = await decoder.decode(parts, 'full');
    if (step + 1 === steps) texts.forEach((text, index) => expectLogits(logitsOf(batch, index), text.last));
  }
}

async function expectAlone(decoder: Decoder, row: CacheRow, text: Known, pieces: readonly number[][]) {
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

describe.each(Object.keys(models))('a tiny %s converted from GGUF', (name) => {
  const { texts } = models[name] as KnownModel;
  const [long] = texts as [Known];
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
    const first = decoder.openRow();
    await decoder.prefill([{ row: first, tokenIds: Int32Array.from(long.promptIds), final: true }], 'none');
    const kept = decoder.retain(first);
    const length = Math.floor(long.promptIds.length * 0.7);
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

  it('computes them in the layout for other runtimes', async () => {
    const concat = await openTiny(name, 'concat');
    await expectAlone(concat, concat.openRow(), long, cut(long.promptIds, 20));
    await concat.close();
  });
});

describe('experts with quantised weights', () => {
  it.each(['int8', 'int8-channel', 'int4'] as const)('compute the same in a batch as alone: %s', async (weights) => {
    const { texts } = models['qwen3-moe'] as KnownModel;
    const decoder = await openTiny('qwen3-moe', 'split', weights);
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
      expectLogits(together[index] ?? new Float32Array(), [...logits]);
      // Rounding is visible, and far smaller than the logits.
      const error = first.reduce((sum, value, id) => sum + (value - (logits[id] ?? NaN)) ** 2, 0);
      const power = first.reduce((sum, value) => sum + value ** 2, 0);
      expect(error).toBeGreaterThan(0);
      expect(error / power).toBeLessThan(0.2);
    }
    await decoder.close();
  });
});
