import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DecoderSize } from '#model-memory';
import { buildTinyModel } from '#test/tiny-models';
import { ggufInteger, joinGguf, splitGguf } from '#test/tiny-models/gguf-parts';
import { quantizedGguf } from '#test/tiny-models/quantized-gguf';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { ggufTypes } from '../convert/gguf/gguf-types.js';
import { convertModel } from '../convert/index.js';
import { draftManifest } from '../draft-manifest.js';
import { readDecoderSize } from './read-decoder-size.js';

const architectures = new URL('../../../inference/src/families/decoder/__fixtures__/architectures/', import.meta.url);

let root: string;
beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), 'decoder-size-'))));
afterAll(() => rm(root, { recursive: true }));

/** What a GGUF file promises, and what its conversion has. */
async function bothSizes(gguf: Buffer, weights?: 'int4' | 'int8' | 'int8-channel' | 'float32') {
  const inputFolder = await mkdtemp(join(root, 'in-'));
  const outputFolder = await mkdtemp(join(root, 'out-'));
  await writeFile(join(inputFolder, 'model.gguf'), gguf);
  const { facts } = await draftManifest(`file:${inputFolder}`, {}, { weights });
  await convertModel({ kind: 'gguf', options: { ...(weights && { weights }) }, inputFolder, outputFolder });
  return {
    promised: facts.decoder?.size as DecoderSize,
    found: await readDecoderSize(outputFolder, { graphFile: 'model.onnx' }),
  };
}

/** The same file with latents and heads of whole blocks of 32 values. Matrices have no content. */
function widerLatents(file: Buffer): Buffer {
  const { metadata, tensors } = splitGguf(file);
  metadata.set('deepseek2.attention.kv_lora_rank', ggufInteger(32));
  metadata.set('deepseek2.attention.key_length_mla', ggufInteger(36));
  const wider: Record<string, number[]> = {
    attn_q_b: [24, 4 * 36],
    attn_kv_a_mqa: [32, 36],
    attn_kv_a_norm: [32],
    attn_k_b: [32, 32, 4],
    attn_v_b: [32, 12, 4],
  };
  const changed = tensors.map((tensor) => {
    const dimensions = wider[tensor.name.split('.')[2] ?? ''];
    return dimensions === undefined ? tensor : { ...tensor, dimensions, data: Buffer.alloc(4 * 32) };
  });
  return joinGguf({ metadata, tensors: changed });
}

describe('what the memory of a decoder depends on', () => {
  it.each(['int4', 'int8', 'int8-channel', 'float32'] as const)(
    'is known from the header of a file as from the graph in %s',
    async (weights) => {
      const { promised, found } = await bothSizes(await ggufFile(tinyDecoder('llama', 1)), weights);
      const { weightsBytes, largestBytes, ...rest } = found as DecoderSize;
      expect(rest).toEqual({
        heads: promised.heads,
        vocabularySize: promised.vocabularySize,
        cacheBytesPerToken: promised.cacheBytesPerToken,
        windowCache: null,
        stateBytes: 0,
      });
      expect(largestBytes).toBeGreaterThan(0);
      // The tables of a tiny model are too small to be mapped.
      expect(weightsBytes / promised.weightsBytes).toBeGreaterThan(1);
    },
  );

  it('is known of layers in several precisions', async () => {
    const tiny = await ggufFile(tinyDecoder('llama', 1));
    const typeOf = (name: string) => (name.includes('ffn_down') ? 'Q8_0' : 'Q4_1');
    const sizes = await Promise.all(
      [typeOf, () => 'Q4_0'].map((types) => bothSizes(quantizedGguf(tiny, ggufTypes, types))),
    );
    const added = (kind: 'promised' | 'found') => sizes[0]![kind]!.weightsBytes - sizes[1]![kind]!.weightsBytes;
    expect(added('promised')).toBeGreaterThan(0);
    // But for the shapes of blocks, constants of the graph.
    expect(Math.abs(added('found') - added('promised'))).toBeLessThan(100);
  });

  // Short convolutions keep inputs of their channels, the others matrices too.
  it.each([
    ['lfm2', 2, 3 * 2 * 32],
    ['qwen3-next', 2, 3 * (3 * (2 * 16 + 48) + 6 * 8 * 8)],
    ['granite-h', 1, 3 * (3 * (64 + 2 * 8) + 4 * 8 * 16)],
    // Both of its layers attend and keep a state.
    ['falcon-h1', 2, 2 * (3 * (64 + 2 * 2 * 8) + 4 * 8 * 16)],
  ])('counts states, and keys and values of the layers that attend: %s', async (name, attend, values) => {
    const { promised, found } = await bothSizes(await readFile(new URL(`${name}.gguf`, architectures)));
    const { cacheBytesPerToken, stateBytes } = promised;
    const headSize = name === 'qwen3-next' ? 16 : 8;
    expect({ cacheBytesPerToken, stateBytes }).toEqual({
      cacheBytesPerToken: attend * 2 * 2 * headSize * 4,
      stateBytes: values * 4,
    });
    expect(found).toMatchObject({ cacheBytesPerToken, stateBytes });
  });

  it('counts one latent of a token for each layer that attends to them', async () => {
    const { promised, found } = await bothSizes(await readFile(new URL('deepseek-v3.gguf', architectures)));
    // Three layers of 16 values, and 4 that rotate; 4 heads would have 12 values of keys and of values each.
    const cacheBytesPerToken = 3 * (16 + 4) * 4;
    expect(promised).toMatchObject({ cacheBytesPerToken, heads: 4, stateBytes: 0, windowCache: null });
    expect(found).toMatchObject({ cacheBytesPerToken, heads: 4, stateBytes: 0, windowCache: null });
  });

  // Latents of 20 values in every layer, and keys of 8 in those with an indexer, which has more heads than attention.
  it.each([
    ['deepseek-v3.2', 3 * (20 + 8)],
    ['glm5.2', 5 * 20 + 2 * 8],
  ])('counts the keys of indexers beside latents: %s', async (name, values) => {
    const { promised, found } = await bothSizes(await readFile(new URL(`${name}.gguf`, architectures)));
    const expected = { cacheBytesPerToken: values * 4, heads: 8, stateBytes: 0, windowCache: null };
    expect(promised).toMatchObject(expected);
    expect(found).toMatchObject(expected);
  });

  it('counts the matrices of heads in float32, whatever the precision of the file', async () => {
    const wide = widerLatents(await readFile(new URL('deepseek-v3.gguf', architectures)));
    const sizesIn = (type: string) => {
      // A layer in blocks gives the output layer its precision.
      const typeOf = (name: string) => (name.includes('attn_kv_a_mqa') ? 'Q8_0' : 'F16');
      return bothSizes(quantizedGguf(wide, ggufTypes, (name) => (/attn_[kv]_b/.test(name) ? type : typeOf(name))));
    };
    const [half, blocks] = [await sizesIn('F16'), await sizesIn('Q8_0')];
    expect(blocks.promised.weightsBytes).toBe(half.promised.weightsBytes);
    expect(blocks.found?.weightsBytes).toBe(half.found?.weightsBytes);
  });

  it('knows the window of layers', async () => {
    const parts = splitGguf(await ggufFile(tinyDecoder('llama', 1)));
    parts.metadata.set('llama.attention.sliding_window', ggufInteger(32));
    const { promised, found } = await bothSizes(joinGguf(parts), 'float32');
    expect(found?.windowCache).toEqual({ size: 32, bytesPerToken: promised.windowCache?.bytesPerToken });
    expect(found?.cacheBytesPerToken).toBe(0);
  });

  it.each(['concat', 'group-query'] as const)('is unknown of graphs in the layout %s', async (layout) => {
    const folder = join(root, layout);
    await mkdir(folder);
    const { graphFile } = await buildTinyModel(folder, { layout });
    expect(await readDecoderSize(folder, { graphFile })).toBeNull();
  });

  it('is unknown of other files', async () => {
    await writeFile(join(root, 'zeros.onnx'), Buffer.alloc(100_000));
    expect(await readDecoderSize(root, { graphFile: 'zeros.onnx' })).toBeNull();
    await writeFile(join(root, 'text.onnx'), 'no graph');
    expect(await readDecoderSize(root, { graphFile: 'text.onnx' })).toBeNull();
  });
});
