import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ggufFile, type PlainTensor } from '#test/tiny-models/source-formats';
import { type TinyDecoder, tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { weightNames } from '../decoder/decoder-shape.js';
import { InputFile } from '../input-file.js';
import { SourceDecoder } from '../decoder/source-decoder.js';
import { readGgufHeader } from './gguf-reader.js';
import { ggufSource } from './gguf-source.js';

let folder: string;

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'gguf-'))));
afterAll(() => rm(folder, { recursive: true }));

async function withDecoder<Result>(content: Buffer, use: (decoder: SourceDecoder) => Promise<Result>): Promise<Result> {
  await writeFile(join(folder, 'tiny.gguf'), content);
  const file = await InputFile.open(folder, 'tiny.gguf');
  try {
    return await use(SourceDecoder.open(ggufSource(file, await readGgufHeader(file))));
  } finally {
    await file.close();
  }
}

/** A `llama` with biases at queries, keys and values, as in some fine-tuned models. */
function biasedLlama(): TinyDecoder {
  const decoder = tinyDecoder('llama', 1);
  return { ...decoder, shape: { ...decoder.shape, bias: { ...decoder.shape.bias, queryKeyValue: true } } };
}

describe('ggufSource', () => {
  it('reorders the biases of queries and keys like their rows', async () => {
    const decoder = biasedLlama();
    const names = (['query', 'key', 'value'] as const).map((part) => weightNames.bias(weightNames.layer(1, part)));
    const read = await withDecoder(await ggufFile(decoder), (opened) =>
      Promise.all(names.map((name) => opened.vector(name))),
    );
    expect(read).toEqual(await Promise.all(names.map((name) => decoder.weights.vector(name))));
  });

  const tensor = (name: string): PlainTensor => ({ name, dimensions: [8], values: new Float32Array(8) });

  it('rejects unused tensors and names them', async () => {
    const names = ['blk.0.ffn_norm.bias', 'blk.1.ffn_gate_inp.weight', 'output_norm.bias'];
    const content = await ggufFile(tinyDecoder('llama', 1), names.map(tensor));
    await expect(withDecoder(content, () => Promise.resolve())).rejects.toThrow(
      `it has tensors that nothing here computes with: ${names.join(', ')}`,
    );
  });

  it('names some of many tensors, and ignores rotary frequencies', async () => {
    const many = Array.from({ length: 9 }, (_, index) => tensor(`blk.0.strange_${index}.weight`));
    const refused = withDecoder(await ggufFile(tinyDecoder('qwen', 1), many), () => Promise.resolve());
    await expect(refused).rejects.toThrow(/strange_4\.weight and 4 more/);
    const usual = ['rope_freqs.weight', 'rope_factors_long.weight', 'blk.0.attn_rot_embd'].map(tensor);
    await withDecoder(await ggufFile(tinyDecoder('llama', 1), usual), async ({ shape }) => {
      expect(shape.layers).toBe(2);
    });
  });
});
