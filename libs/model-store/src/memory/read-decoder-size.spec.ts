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
  return { promised: facts.decoder?.size as DecoderSize, found: await readDecoderSize(outputFolder, 'model.onnx') };
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
    expect(await readDecoderSize(folder, graphFile)).toBeNull();
  });

  it('is unknown of other files', async () => {
    await writeFile(join(root, 'zeros.onnx'), Buffer.alloc(100_000));
    expect(await readDecoderSize(root, 'zeros.onnx')).toBeNull();
    await writeFile(join(root, 'text.onnx'), 'no graph');
    expect(await readDecoderSize(root, 'text.onnx')).toBeNull();
  });
});
