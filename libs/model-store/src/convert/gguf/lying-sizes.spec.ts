import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ggufInteger, joinGguf, splitGguf } from '#test/tiny-models/gguf-parts';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { convertGguf } from '../gguf.converter.js';

let folder: string;
let gguf: Buffer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gguf-sizes-'));
  gguf = await ggufFile(tinyDecoder('llama', 1));
});
afterAll(() => rm(folder, { recursive: true }));

async function convert(change: (parts: ReturnType<typeof splitGguf>) => void): Promise<void> {
  const parts = splitGguf(gguf);
  change(parts);
  const [inputFolder, outputFolder] = [await mkdtemp(join(folder, 'in-')), await mkdtemp(join(folder, 'out-'))];
  await mkdir(inputFolder, { recursive: true });
  await writeFile(join(inputFolder, 'tiny.gguf'), joinGguf(parts));
  try {
    await convertGguf({ inputFolder, outputFolder, options: {} });
  } finally {
    expect(await readdir(outputFolder)).toEqual([]);
  }
}

describe('convertGguf', () => {
  const lies = [-1, 0, 2_000_000_000, 2 ** 32 - 1];
  const keys = [
    'embedding_length',
    'block_count',
    'context_length',
    'feed_forward_length',
    'attention.head_count',
    'attention.head_count_kv',
    'attention.key_length',
    'rope.dimension_count',
  ];

  it.each(keys)('refuses a file that lies about %s at once, and leaves nothing', async (key) => {
    const before = process.memoryUsage().rss;
    for (const lie of lies) {
      const lying = convert(({ metadata }) => metadata.set(`llama.${key}`, ggufInteger(lie >>> 0)));
      await expect(lying).rejects.toMatchObject({
        code: 'INVALID_MODEL',
        message: expect.stringMatching(/^The file tiny\.gguf/),
      });
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
  });

  it('says how to convert a model of a longer context than fits', async () => {
    const long = convert(({ metadata }) => metadata.set('llama.context_length', ggufInteger(2_000_000_000)));
    await expect(long).rejects.toThrow(/context of 2000000000 tokens needs .* option `contextLength`/);
  });

  it('names a weight that is no number, and leaves nothing', async () => {
    const broken = convert(({ tensors }) =>
      tensors.find(({ name }) => name === 'blk.1.ffn_up.weight')?.data.writeFloatLE(NaN, 400),
    );
    await expect(broken).rejects.toThrow(/its tensor blk\.1\.ffn_up\.weight holds NaN at byte \d+/);
  });
});
