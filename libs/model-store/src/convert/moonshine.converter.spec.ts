import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertModel } from './index.js';

const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
const pieces = ['<unk>', '<s>', '</s>', ...bytes, '▁h', 'el', '▁hel', 'lo', '▁hello', '▁', 'h', 'e', 'l', 'o'];

describe('the Moonshine converter', () => {
  let folder: string;
  let count = 0;

  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'moonshine-'))));
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function convert(source: string) {
    const [inputFolder, outputFolder] = ['in', 'out'].map((side) => join(folder, `${side}-${count}`)) as [
      string,
      string,
    ];
    count++;
    for (const path of [inputFolder, outputFolder]) await mkdir(path);
    for (const name of ['encoder_model.onnx', 'decoder_model_merged.onnx', 'silero_vad.onnx']) {
      await writeFile(join(inputFolder, name), name);
    }
    await writeFile(join(inputFolder, 'llama-tokenizer.js'), source);
    const result = await convertModel({ kind: 'moonshine', options: {}, inputFolder, outputFolder });
    return { result, outputFolder };
  }

  const library = (list: string[]) =>
    `export const x = 1\nconst llama_vocab_base64 = "${Buffer.from(list.join('\n')).toString('base64')}";\nthrow new Error("run");\n`;

  it("copies the graphs and extracts the tokenizer's vocabulary from a library without running it", async () => {
    const { result, outputFolder } = await convert(library(pieces));
    expect(result.converter).toBe('moonshine/1');
    expect(result.files).toContain('silero_vad.onnx');
    expect(await readFile(join(outputFolder, 'encoder_model.onnx'), 'utf8')).toBe('encoder_model.onnx');
    const json = async (name: string) => JSON.parse(await readFile(join(outputFolder, name), 'utf8')) as object;
    const tokenizer = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'));
    const ids = tokenizer.encode('hello', { add_special_tokens: false }).ids;
    expect(ids.map((id: number) => pieces[id])).toEqual(['▁hello']);
    expect(tokenizer.decode([263, 0xc3 + 3, 0xa9 + 3], {})).toBe('helloé');
  });

  it.each([
    ['holds no vocabulary', 'const other = "";'],
    ['does not begin as it must', library(['<s>', '<unk>', '</s>', ...bytes])],
  ])('rejects a library that %s, and leaves nothing behind', async (problem, source) => {
    await expect(convert(source)).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      message: expect.stringContaining(problem) as string,
    });
  });
});
