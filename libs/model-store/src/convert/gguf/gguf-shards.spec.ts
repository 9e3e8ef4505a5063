import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ggufInteger, joinGguf, shardGguf, splitGguf } from '#test/tiny-models/gguf-parts';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { convertGguf } from '../gguf.converter.js';

let folder: string;
let whole: Buffer;
let shards: Record<string, Buffer>;
const second = 'tiny-00002-of-00003.gguf';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gguf-shards-'));
  whole = await ggufFile(tinyDecoder('llama', 1));
  shards = shardGguf(whole, 'tiny', 3);
});
afterEach(() => rm(folder, { recursive: true }));

/** Converts the files and returns the bytes of the graph. */
async function graphOf(files: Record<string, Buffer>): Promise<Buffer> {
  const inputFolder = await mkdtemp(join(folder, 'in-'));
  const outputFolder = join(folder, 'out');
  await mkdir(outputFolder, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(inputFolder, name), content);
  try {
    await convertGguf({ inputFolder, outputFolder, options: { weights: 'int8' } });
    return await readFile(join(outputFolder, 'model.onnx'));
  } catch (error) {
    expect(await readdir(outputFolder)).toEqual([]);
    throw error;
  } finally {
    await rm(outputFolder, { recursive: true });
  }
}

/** Changes the metadata and tensors of the second shard. */
function withSecond(change: (parts: ReturnType<typeof splitGguf>) => void): Record<string, Buffer> {
  const parts = splitGguf(shards[second] as Buffer);
  change(parts);
  return { ...shards, [second]: joinGguf(parts) };
}

describe('the shards of a GGUF file', () => {
  it('become the same model as the whole file', async () => {
    const joined = await graphOf(shards);
    expect(joined.equals(await graphOf({ 'tiny.gguf': whole }))).toBe(true);
  });

  it('are named if one is missing', async () => {
    const { [second]: left, ...rest } = shards;
    expect(left).toBeDefined();
    await expect(graphOf(rest)).rejects.toThrow(`${second} is missing beside it`);
    await expect(graphOf({ 'renamed.gguf': shards[second] as Buffer })).rejects.toThrow(
      'renamed.gguf cannot be converted: it is one of 3 shards, and 1 is here',
    );
  });

  it.each<[string, (parts: ReturnType<typeof splitGguf>) => void, string]>([
    [
      'of another split',
      ({ metadata }) => metadata.set('split.count', ggufInteger(4)),
      `${second} cannot be converted: it is one of 4 shards, and 3 are here`,
    ],
    [
      'in another place',
      ({ metadata }) => metadata.set('split.no', ggufInteger(2)),
      'it is shard 3 of 3 by its metadata, not 2',
    ],
    ['without a tensor', ({ tensors }) => tensors.pop(), 'tensors, and the 3 shards have'],
    [
      'with weights that are no numbers',
      ({ tensors }) => tensors[0]?.data.writeFloatLE(NaN, 64),
      `${second} cannot be converted: its tensor`,
    ],
  ])('are refused with one %s', async (_, change, message) => {
    await expect(graphOf(withSecond(change))).rejects.toThrow(message);
  });

  it('are refused with a tensor that is in two', async () => {
    const [first] = splitGguf(Object.values(shards)[0] as Buffer).tensors;
    const mixed = withSecond(({ tensors }) => first && tensors.push(first));
    await expect(graphOf(mixed)).rejects.toThrow(`${second} cannot be converted: it repeats the tensor ${first?.name}`);
  });

  it('are refused beside those of another model', async () => {
    await expect(graphOf({ ...shards, 'other.gguf': whole })).rejects.toThrow('only one is allowed');
  });
});
