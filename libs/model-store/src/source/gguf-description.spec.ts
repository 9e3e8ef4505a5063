import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ggufInteger, joinGguf, splitGguf } from '#test/tiny-models/gguf-parts';
import { quantizedGguf } from '#test/tiny-models/quantized-gguf';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { cacheBytes } from '#model-memory';
import type { WeightFormat } from '../convert/conversion-options.js';
import { openGguf } from '../convert/gguf/gguf-shards.js';
import { ggufTypes } from '../convert/gguf/gguf-types.js';
import { convertModel } from '../convert/index.js';
import { InputFile } from '../convert/input-file.js';
import { bytesOfTensor } from '../memory/graph-tables.js';
import { memoryAccess, readOnnxModel } from '../onnx/index.js';
import { uniformFormats } from './converted-formats.js';
import { convertedBytes, describeGguf } from './gguf-description.js';

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'description-'))));
afterAll(() => rm(folder, { recursive: true }));

async function withFile<Result>(content: Buffer, use: (file: InputFile) => Promise<Result>): Promise<Result> {
  await writeFile(join(folder, 'tiny.gguf'), content);
  const file = await InputFile.open(folder, 'tiny.gguf');
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Bytes of the weights of a conversion, and what the header of the file promises. */
async function bothBytes(content: Buffer, weights?: WeightFormat): Promise<{ promised: number; actual: number }> {
  const [inputFolder, outputFolder] = [await mkdtemp(join(folder, 'in-')), await mkdtemp(join(folder, 'out-'))];
  await writeFile(join(inputFolder, 'tiny.gguf'), content);
  await convertModel({ kind: 'gguf', options: { ...(weights && { weights }) }, inputFolder, outputFolder });
  const { initializers } = await readOnnxModel(memoryAccess(await readFile(join(outputFolder, 'model.onnx'))));
  const found = await withFile(content, async (file) => describeGguf(await openGguf([file])));
  const formats = weights === undefined ? found.formats : uniformFormats(weights, found);
  return {
    promised: convertedBytes(found, formats, found.contextLength),
    actual: initializers.reduce((sum, tensor) => sum + bytesOfTensor(tensor), 0),
  };
}

describe('convertedBytes', () => {
  it.each([
    ['llama', 'int4'],
    ['llama', 'float32'],
    ['qwen', 'int4'],
    ['qwen', 'int8'],
    ['llama', undefined],
    ['qwen', 'float32'],
    ['qwen', undefined],
  ] as const)('is within 3 %% of the weights of a %s in %s', async (name, weights) => {
    const file = await ggufFile(tinyDecoder(name, 1));
    const mixed = quantizedGguf(file, ggufTypes, (tensor) => (tensor.includes('ffn_') ? 'Q8_0' : 'Q4_0'));
    const { promised, actual } = await bothBytes(weights === undefined ? mixed : file, weights);
    expect(promised / actual).toBeGreaterThan(0.97);
    expect(promised / actual).toBeLessThan(1.03);
  });
});

describe('cacheBytes', () => {
  const described = async (window: number) => {
    const parts = splitGguf(await ggufFile(tinyDecoder('llama', 1)));
    parts.metadata.set('llama.context_length', ggufInteger(32_768));
    if (window > 0) parts.metadata.set('llama.attention.sliding_window', ggufInteger(window));
    return withFile(joinGguf(parts), async (file) => describeGguf(await openGguf([file])));
  };

  it('follows the window of the layers that have one, and not the context', async () => {
    const rows = { slots: 8, tokens: 8 * 32_768 };
    const [whole, windowed] = [await described(0), await described(128)];
    expect(cacheBytes(whole, rows)).toBe(whole.cacheBytesPerToken * rows.tokens);
    expect(windowed).toMatchObject({ cacheBytesPerToken: 0, windowCache: { bytesPerToken: whole.cacheBytesPerToken } });
    expect(cacheBytes(windowed, rows) / cacheBytes(whole, rows)).toBeLessThan(0.5);
  });
});
