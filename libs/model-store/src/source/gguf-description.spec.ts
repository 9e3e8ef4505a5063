import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ggufInteger, joinGguf, splitGguf } from '#test/tiny-models/gguf-parts';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { linearFormat } from '../convert/conversion-options.js';
import { cacheBytes } from '#platform/memory';
import { SourceDecoder } from '../convert/decoder/source-decoder.js';
import { emitSplitDecoder } from '../convert/decoder/split-decoder.js';
import { readGgufHeader } from '../convert/gguf/gguf-reader.js';
import { ggufSource } from '../convert/gguf/gguf-source.js';
import { InputFile } from '../convert/input-file.js';
import { initializerBytes } from '../onnx/onnx-types.js';
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

describe('convertedBytes', () => {
  it.each([
    ['llama', 'int4', 'float16'],
    ['llama', 'float32', 'float32'],
    ['qwen', 'int4', 'float16'],
    ['qwen', 'int8', 'float16'],
  ] as const)('is within 3 %% of the weights of a %s in %s', async (name, weights, embedding) => {
    const content = await ggufFile(tinyDecoder(name, 1));
    await withFile(content, async (file) => {
      const description = await describeGguf([file]);
      const decoder = SourceDecoder.open(ggufSource(file, await readGgufHeader(file)));
      const linear = linearFormat(weights, 32);
      const head = linearFormat(weights === 'int4' ? 'int8' : weights, 32);
      const graph = emitSplitDecoder({ shape: decoder.shape, weights: decoder, linear, head, embedding });
      const actual = graph.initializers.reduce((sum, initializer) => sum + initializerBytes(initializer), 0);
      const estimate = convertedBytes(description, { weights, contextLength: decoder.shape.contextLength });
      expect(estimate / actual).toBeGreaterThan(0.97);
      expect(estimate / actual).toBeLessThan(1.03);
    });
  });
});

describe('cacheBytes', () => {
  const described = async (window: number) => {
    const parts = splitGguf(await ggufFile(tinyDecoder('llama', 1)));
    parts.metadata.set('llama.context_length', ggufInteger(32_768));
    if (window > 0) parts.metadata.set('llama.attention.sliding_window', ggufInteger(window));
    return withFile(joinGguf(parts), (file) => describeGguf([file]));
  };

  it('follows the window of the layers that have one, and not the context', async () => {
    const rows = { slots: 8, tokens: 8 * 32_768 };
    const [whole, windowed] = [await described(0), await described(128)];
    expect(cacheBytes(whole, rows)).toBe(whole.cacheBytesPerToken * rows.tokens);
    expect(windowed).toMatchObject({ cacheBytesPerToken: 0, windowCache: { bytesPerToken: whole.cacheBytesPerToken } });
    expect(cacheBytes(windowed, rows) / cacheBytes(whole, rows)).toBeLessThan(0.5);
  });
});
