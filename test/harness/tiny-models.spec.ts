import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Decoder, openDecoder, openGraph } from '#inference';
import { multipliesRowsAlike } from './row-kernels.js';
import { argmax, greedySteps, largestDifference } from './tiny-models/compare-runners.js';
import { openConcatRunner, openSplitRunner, type SequenceRunner } from './tiny-models/graph-runner.js';
import { tinyDecoder, type TinyShapeName } from './tiny-models/tiny-shapes.js';
import { buildTinyModel, installTinyModel, type TinyModelOptions } from './tiny-models.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tiny-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let counter = 0;
async function build(options: TinyModelOptions): Promise<{ path: string; graph: string }> {
  const path = join(folder, `m${counter++}`);
  const manifest = await buildTinyModel(path, options);
  return { path, graph: join(path, manifest.graphFile) };
}

async function splitRunner(options: TinyModelOptions, capacity = 64): Promise<SequenceRunner> {
  const { graph } = await build({ ...options, layout: 'split' });
  return openSplitRunner(graph, tinyDecoder(options.shape ?? 'llama', 1).shape, capacity);
}

async function concatRunner(options: TinyModelOptions): Promise<SequenceRunner> {
  const { graph } = await build({ layout: 'concat', ...options });
  return openConcatRunner(graph, tinyDecoder(options.shape ?? 'llama', 1).shape);
}

const prompt = [300, 17, 400, 265, 330, 411, 290, 350, 420, 280, 310];

async function expectSameText(left: SequenceRunner, right: SequenceRunner, tolerance: number): Promise<void> {
  const [rows, others] = [await greedySteps(left, prompt, 24), await greedySteps(right, prompt, 24)];
  expect(rows.map(argmax)).toEqual(others.map(argmax));
  rows.forEach((row, step) => expect(largestDifference(row, others[step] ?? row)).toBeLessThan(tolerance));
  await Promise.all([left.release(), right.release()]);
}

describe('tiny decoders', () => {
  it.each(['llama', 'qwen', 'phi'] as const)(
    'give the same logits in the split and the concat layout: %s',
    async (shape) => {
      await expectSameText(await splitRunner({ shape }), await concatRunner({ shape }), 1e-3);
    },
  );

  it.each(['llama', 'qwen'] as const)('give the same logits with GroupQueryAttention: %s', async (shape) => {
    await expectSameText(await concatRunner({ shape }), await concatRunner({ shape, layout: 'group-query' }), 1e-3);
  });

  it('give the same logits with inline and external weights', async () => {
    const outside = await splitRunner({ externalData: true });
    await expectSameText(await splitRunner({}), outside, 1e-9);
  });

  it('give close top choices in half precision', async () => {
    const [full, half] = [await concatRunner({}), await concatRunner({ dtype: 'float16' })];
    const [left, right] = [await full.append(prompt), await half.append(prompt)];
    expect(largestDifference(left.logits, right.logits)).toBeLessThan(0.1);
    await Promise.all([full.release(), half.release()]);
  });

  it.each([
    ['int8', 0.5],
    ['int4', 6],
  ] as const)('stay near their float32 logits as %s', async (dtype, tolerance) => {
    const [full, quantized] = [await splitRunner({}), await splitRunner({ dtype })];
    const [left, right] = [await full.append(prompt), await quantized.append(prompt)];
    const difference = largestDifference(left.logits, right.logits);
    expect(difference).toBeLessThan(tolerance);
    expect(difference).toBeGreaterThan(0);
    await Promise.all([full.release(), quantized.release()]);
  });

  it('do not depend on the cache capacity or on how the prompt is split', async () => {
    const whole = await (await splitRunner({}, 16)).append(prompt);
    const cut = await splitRunner({}, 200);
    await cut.append(prompt.slice(0, 3));
    await cut.append(prompt.slice(3, 4));
    const last = await cut.append(prompt.slice(4));
    expect(largestDifference(whole.logits, last.logits)).toBeLessThan(1e-3);
  });

  it('run without any past capacity', async () => {
    const [without, withRoom] = [await splitRunner({}, 0), await splitRunner({}, 32)];
    const [left, right] = [await without.append(prompt), await withRoom.append(prompt)];
    expect(largestDifference(left.logits, right.logits)).toBeLessThan(1e-3);
    await Promise.all([without.release(), withRoom.release()]);
  });

  it('return the top 64 and the log-sum-exp besides all logits', async () => {
    const runner = await splitRunner({ shape: 'qwen' });
    const { logits, top, logSumExp } = await runner.append(prompt);
    const order = [...logits.keys()].sort((left, right) => (logits[right] ?? 0) - (logits[left] ?? 0));
    expect(top?.ids).toEqual(order.slice(0, 64));
    expect([...(top?.values ?? [])]).toEqual(order.slice(0, 64).map((id) => logits[id]));
    expect(logSumExp).toBeCloseTo(Math.log(logits.reduce((sum, value) => sum + Math.exp(value), 0)), 4);
    await runner.release();
  });

  it('are the same files for the same seed and others for another', async () => {
    const read = async (options: TinyModelOptions) => readFile((await build(options)).graph);
    expect((await read({})).equals(await read({}))).toBe(true);
    expect((await read({})).equals(await read({ seed: 2 }))).toBe(false);
  });
});

describe('a batch of rows of different lengths', () => {
  const prompts = [prompt, [301, 17], [290, 350, 420, 280, 310, 300, 17, 400], [411]];

  it.each([
    ['llama', 'float32', 1e-3],
    ['llama', 'int4', 'as the kernels'],
    ['llama', 'int8', 0],
    ['qwen', 'int4', 'as the kernels'],
    ['phi', 'float32', 1e-3],
  ] as const)('gives each row the same logits as alone: %s %s', async (shape, dtype, promised) => {
    const tolerance = promised === 'as the kernels' ? await int4Tolerance() : promised;
    const { graph } = await build({ shape, dtype, layout: 'split' });
    const session = await openGraph({ modelPath: graph, providers: ['cpu'], intraOpThreads: 1 });
    const decoder = openDecoder(session, { slots: prompts.length });
    const together = await decodeSteps(decoder, prompts, 6);
    for (const [index, tokens] of prompts.entries()) {
      const [alone] = await decodeSteps(decoder, [tokens], 6);
      alone?.forEach((row, step) => {
        expect(largestDifference(row, together[index]?.[step] ?? new Float32Array(row.length))).toBeLessThanOrEqual(
          tolerance,
        );
      });
    }
    await decoder.close();
  });
});

/** Zero where the 4-bit kernels of this processor compute a row alone as in a batch. */
async function int4Tolerance(): Promise<number> {
  return (await multipliesRowsAlike({ bits: 4, blockSize: 32 })) ? 0 : 1e-4;
}

/** Logits of the decode steps of each prompt; every row decodes the same arbitrary tokens. */
async function decodeSteps(decoder: Decoder, prompts: number[][], steps: number): Promise<Float32Array[][]> {
  const rows = prompts.map(() => decoder.openRow());
  for (const [index, row] of rows.entries()) {
    await decoder.prefill([{ row, tokenIds: Int32Array.from(prompts[index] ?? []), final: true }], 'none');
  }
  const logits: Float32Array[][] = rows.map(() => []);
  for (let step = 0; step < steps; step++) {
    const parts = rows.map((row) => ({ row, tokenId: 270 + 13 * step }));
    const batch = await decoder.decode(parts, 'full');
    for (const [index, place] of batch.rowIndexes.entries()) {
      const start = place * batch.vocabularySize;
      logits[index]?.push(batch.logits?.slice(start, start + batch.vocabularySize) ?? new Float32Array());
    }
  }
  for (const row of rows.reverse()) decoder.release(row);
  return logits;
}

describe('tiny tokenizers', () => {
  const texts = ['Hello, how are you?', 'naïve 漢字 🙂👩‍👩‍👧 ok', '  two  spaces\nand a line', 'Once upon a time'];

  it.each(['llama', 'qwen', 'phi'] as TinyShapeName[])('round-trip every text: %s', (shape) => {
    const { tokenizerJson, tokenizerConfig, vocabularySize } = tinyDecoder(shape, 1).tokenizer;
    const tokenizer = new Tokenizer(tokenizerJson, tokenizerConfig);
    for (const text of texts) {
      const { ids } = tokenizer.encode(text);
      expect(Math.max(0, ...ids)).toBeLessThan(vocabularySize);
      expect(tokenizer.decode(ids, { skip_special_tokens: true })).toBe(text);
    }
    expect(tokenizer.encode('Once upon a time there was').ids.length).toBeLessThan(18);
  });
});

describe('installTinyModel', () => {
  it('leaves a complete installed model and nothing else', async () => {
    const home = join(folder, 'home');
    const manifest = await installTinyModel(home, { id: 'tiny-a', layout: 'concat', dtype: 'int4' });
    expect(manifest).toMatchObject({ id: 'tiny-a', graphFile: 'onnx/model_q4.onnx' });
    expect(await readdir(join(home, 'models'))).toEqual(['tiny-a']);
    const record = JSON.parse(await readFile(join(home, 'models/tiny-a/installed.json'), 'utf8')) as {
      files: { path: string }[];
    };
    expect(record.files.map((file) => file.path)).toEqual([
      'config.json',
      'generation_config.json',
      'manifest.json',
      'onnx/model_q4.onnx',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
  });
});
