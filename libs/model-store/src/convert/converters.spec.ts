import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { buildTinyModel } from '#test/tiny-models';
import { argmax, greedySteps, largestDifference } from '#test/tiny-models/compare-runners';
import { openSplitRunner } from '#test/tiny-models/graph-runner';
import { ggufFile, llama2cFiles } from '#test/tiny-models/source-formats';
import { tinyDecoder, type TinyShapeName } from '#test/tiny-models/tiny-shapes';
import type { ConversionOptions, ConversionProgress } from './conversion.js';
import { convertModel, type ConverterKind } from './index.js';

let folder = '';
const inputs: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'convert-'));
  const { checkpoint, tokenizer } = await llama2cFiles(tinyDecoder('llama', 1));
  await input('llama2c', { 'model.bin': checkpoint, 'tokenizer.bin': tokenizer });
  await input('bundle', { 'llama2.data': Buffer.concat([checkpoint, tokenizer]) });
  await input('gguf-llama', { 'tiny.gguf': await ggufFile(tinyDecoder('llama', 1)) });
  await input('gguf-qwen', { 'tiny.gguf': await ggufFile(tinyDecoder('qwen', 1)) });
  for (const shape of ['llama', 'qwen'] as const) await buildTinyModel(join(folder, `reference-${shape}`), { shape });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function input(name: string, files: Record<string, Buffer>): Promise<string> {
  const path = join(folder, name);
  await mkdir(path, { recursive: true });
  for (const [file, content] of Object.entries(files)) await writeFile(join(path, file), content);
  inputs[name] = path;
  return path;
}

interface Run {
  kind: ConverterKind;
  from: string;
  options?: ConversionOptions;
  signal?: AbortSignal;
  onProgress?: (progress: ConversionProgress) => void;
}

async function convert({ from, ...request }: Run) {
  const outputFolder = await mkdtemp(join(folder, 'out-'));
  const result = await convertModel({ options: {}, inputFolder: inputs[from] ?? from, outputFolder, ...request });
  return { outputFolder, result };
}

async function logitsOf(model: string, shape: TinyShapeName): Promise<Float32Array[]> {
  const runner = await openSplitRunner(join(model, 'model.onnx'), tinyDecoder(shape, 1).shape, 64);
  const rows = await greedySteps(runner, [300, 17, 400, 265, 330, 411, 290], 12);
  await runner.release();
  return rows;
}

async function tokenizerOf(model: string): Promise<Tokenizer> {
  const json = async (name: string) => JSON.parse(await readFile(join(model, name), 'utf8')) as object;
  return new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'));
}

const texts = ['Hello, how are you?', 'Once upon a time there was', 'naïve 漢字 🙂 ok', '  two  spaces', 'a<|user|>b'];

async function expectReference(model: string, shape: TinyShapeName): Promise<void> {
  const reference = join(folder, `reference-${shape}`);
  const [rows, expected] = [await logitsOf(model, shape), await logitsOf(reference, shape)];
  expect(rows.map(argmax)).toEqual(expected.map(argmax));
  rows.forEach((row, step) => expect(largestDifference(row, expected[step] ?? row)).toBeLessThan(1e-4));
}

async function expectReferenceTokens(model: string, shape: TinyShapeName, of: string[]): Promise<void> {
  const [tokenizer, reference] = [await tokenizerOf(model), await tokenizerOf(join(folder, `reference-${shape}`))];
  for (const text of of) {
    const { ids } = tokenizer.encode(text);
    expect(ids).toEqual(reference.encode(text).ids);
    expect(tokenizer.decode(ids, { skip_special_tokens: false })).toBe(
      reference.decode(ids, { skip_special_tokens: false }),
    );
  }
}

const written = ['config.json', 'generation_config.json', 'model.onnx', 'tokenizer.json', 'tokenizer_config.json'];

describe('convertModel', () => {
  it.each([
    ['llama2c', 'llama2c'],
    ['llama2c', 'bundle'],
  ] as const)('returns the same logits and tokens as the weights themselves: %s from %s', async (kind, from) => {
    const { outputFolder, result } = await convert({ kind, from });
    await expectReference(outputFolder, 'llama');
    // llama2.c has only three tokens outside the merges.
    await expectReferenceTokens(outputFolder, 'llama', texts.slice(0, -1));
    expect(result.converter).toBe('llama2c/3 float32');
    expect([...result.files].sort()).toEqual(written);
    expect((await readdir(outputFolder)).sort()).toEqual(written);
  });

  it.each(['llama', 'qwen'] as const)('returns the same logits and tokens from a GGUF file: %s', async (shape) => {
    const { outputFolder } = await convert({ kind: 'gguf', from: `gguf-${shape}`, options: { weights: 'float32' } });
    await expectReference(outputFolder, shape);
    await expectReferenceTokens(outputFolder, shape, texts);
  });

  it('takes template, end tokens and sizes from a GGUF file', async () => {
    const { outputFolder } = await convert({ kind: 'gguf', from: 'gguf-qwen' });
    const json = async (name: string) =>
      JSON.parse(await readFile(join(outputFolder, name), 'utf8')) as Record<string, unknown>;
    const { tokenizer, shape } = tinyDecoder('qwen', 1);
    expect((await json('tokenizer_config.json')).chat_template).toBe(tokenizer.tokenizerConfig.chat_template);
    expect((await json('generation_config.json')).eos_token_id).toEqual(tokenizer.eosTokenIds);
    expect(await json('config.json')).toMatchObject({
      model_type: 'qwen3',
      head_dim: shape.headSize,
      max_position_embeddings: 256,
      tie_word_embeddings: true,
    });
  });

  it.each([
    [{ weights: 'int4', blockSize: 32 }, 'gguf/6 int4 blockSize=32 head=int8'],
    [{ weights: 'int4', blockSize: 64, headWeights: 'int4' }, 'gguf/6 int4 blockSize=64 head=int4'],
    [{ weights: 'int8', blockSize: 128 }, 'gguf/6 int8 blockSize=128 head=int8'],
    [{ weights: 'int8-channel' }, 'gguf/6 int8-channel head=int8-channel'],
  ] as const)('stores linear layers in the requested format: %j', async (options, converter) => {
    const { outputFolder, result } = await convert({ kind: 'gguf', from: 'gguf-llama', options });
    expect(result.converter).toBe(converter);
    const [row] = await logitsOf(outputFolder, 'llama');
    const [expected] = await logitsOf(join(folder, 'reference-llama'), 'llama');
    const difference = largestDifference(row ?? new Float32Array(), expected ?? new Float32Array());
    expect(difference).toBeGreaterThan(0);
    expect(difference).toBeLessThan(options.weights === 'int4' ? 6 : 1);
  });

  it('shortens the context on request', async () => {
    const { outputFolder } = await convert({ kind: 'gguf', from: 'gguf-llama', options: { contextLength: 100 } });
    const config = JSON.parse(await readFile(join(outputFolder, 'config.json'), 'utf8')) as Record<string, unknown>;
    expect(config.max_position_embeddings).toBe(100);
  });

  it('reports progress up to the total', async () => {
    const seen: ConversionProgress[] = [];
    await convert({ kind: 'gguf', from: 'gguf-llama', onProgress: (progress) => seen.push(progress) });
    expect(seen.length).toBeGreaterThan(10);
    const last = seen.at(-1);
    expect(last?.done).toBe(last?.total);
    expect(seen.every((progress, index) => progress.done >= (seen[index - 1]?.done ?? 0))).toBe(true);
  });
});

describe('a failing conversion', () => {
  async function failure(run: Run): Promise<{ message: string; left: string[] }> {
    const outputFolder = await mkdtemp(join(folder, 'failed-'));
    const { from, ...request } = run;
    const error: unknown = await convertModel({ options: {}, inputFolder: from, outputFolder, ...request }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Error);
    return { message: (error as Error).message, left: await readdir(outputFolder) };
  }

  async function changed(name: string, file: string, change: (content: Buffer) => Buffer): Promise<string> {
    const path = await mkdtemp(join(folder, 'changed-'));
    await cp(inputs[name] ?? '', path, { recursive: true });
    await writeFile(join(path, file), change(await readFile(join(path, file))));
    return path;
  }

  it.each([
    ['llama2c', 'model.bin', 'it is cut short or no llama2.c checkpoint'],
    ['llama2c', 'tokenizer.bin', 'its tokenizer ends inside token'],
    ['gguf-llama', 'tiny.gguf', 'it is cut short: its tensor'],
  ] as const)('names the truncated file and leaves nothing: %s %s', async (name, file, reason) => {
    const from = await changed(name, file, (content) => content.subarray(0, Math.floor(content.length * 0.9)));
    const { message, left } = await failure({ kind: name === 'llama2c' ? 'llama2c' : 'gguf', from });
    expect(message).toContain(`The file ${file} cannot be converted: `);
    expect(message).toContain(reason);
    expect(left).toEqual([]);
  });

  it('explains why other files are rejected', async () => {
    const text = await input('text', { 'model.bin': Buffer.from('once upon a time there was no model at all') });
    expect((await failure({ kind: 'llama2c', from: text })).message).toContain('no llama2.c checkpoint has');
    const later = await input('later', { 'model.bin': Buffer.from('24ka long enough header follows here') });
    expect((await failure({ kind: 'llama2c', from: later })).message).toContain('of a later version');
    const other = await changed('gguf-llama', 'tiny.gguf', (content) => replace(content, 'llama', 'mamba'));
    expect((await failure({ kind: 'gguf', from: other })).message).toContain('its architecture is mamba');
    const without = await changed('gguf-llama', 'tiny.gguf', (content) =>
      replace(content, 'ffn_up.weight', 'ffn_xx.weight'),
    );
    expect((await failure({ kind: 'gguf', from: without })).message).toContain('it has no tensor blk.0.ffn_up.weight');
    const empty = await input('nothing', {});
    expect((await failure({ kind: 'gguf', from: empty })).message).toContain(
      'model.gguf cannot be converted: it is missing',
    );
  });

  it('names options that are unknown or invalid', async () => {
    const from = inputs['gguf-llama'] ?? '';
    const messageFor = async (options: ConversionOptions) => (await failure({ kind: 'gguf', from, options })).message;
    expect(await messageFor({ blockSize: 48 })).toContain('`blockSize` must be one of 16, 32, 64, 128');
    expect(await messageFor({ block: 32 })).toContain('`block` is not known');
    expect(await messageFor({ contextLength: -1 })).toContain('`contextLength` must be a whole number');
  });

  it('ends on abort with its reason and leaves nothing', async () => {
    const controller = new AbortController();
    const onProgress = ({ done, total }: ConversionProgress) => {
      if (done * 2 > total) controller.abort(new PlatformError('JOB_CANCELLED', 'Enough.'));
    };
    const run: Run = { kind: 'gguf', from: inputs['gguf-llama'] ?? '', signal: controller.signal, onProgress };
    expect(await failure(run)).toEqual({ message: 'Enough.', left: [] });
  });
});

function replace(content: Buffer, from: string, to: string): Buffer {
  const changed = Buffer.from(content);
  changed.write(to, changed.indexOf(from));
  return changed;
}
