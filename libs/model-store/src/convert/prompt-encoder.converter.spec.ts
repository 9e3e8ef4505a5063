import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tinyBertFolder } from '#test/tiny-encoder';
import { convertModel } from './index.js';
import { buildClipVocabulary, piecesPerToken } from './prompt/clip-vocabulary.js';
import { WordPiece } from './prompt/word-piece.js';

/* That the graph computes what its reference does is tested on the real weights (test/models). */

const wordPiece = new WordPiece(
  new Map(
    ['[PAD]', 'apple', 'red', 'app', '##les', '##s', 'a', 'e', '!', 'cafe', 'x', '##x'].map((piece, id) => [piece, id]),
  ),
);

describe('the vocabulary of a prompt encoder', () => {
  const { tokens, merges, pieces } = buildClipVocabulary(wordPiece, ['apples', 'café', 'qq', 'x']);
  const piecesOf = (token: string) => {
    const id = tokens.indexOf(token);
    expect(id, token).toBeGreaterThanOrEqual(0);
    return [...pieces.subarray(id * piecesPerToken, (id + 1) * piecesPerToken)].filter((piece) => piece !== 0);
  };

  it('has every known word as one token, with its pieces', () => {
    expect(piecesOf('apple</w>')).toEqual([1]);
    expect(piecesOf('apples</w>')).toEqual([1, 5]);
    // Accents are ignored, as the encoder does; a word without pieces means nothing.
    expect(piecesOf('cafÃ©</w>')).toEqual([9]);
    expect(piecesOf('qq</w>')).toEqual([]);
  });

  it('knows characters, and the ends of words', () => {
    expect(piecesOf('!</w>')).toEqual([8]);
    expect(piecesOf('A')).toEqual([6]);
    expect(piecesOf('les</w>')).toEqual([4]);
    expect(piecesOf('Ġ')).toEqual([]);
  });

  it('joins each word from its end, so that one merge applies at a time', () => {
    const ofRed = merges.filter(([, suffix]) => suffix === 'd</w>' || suffix === 'ed</w>');
    expect(ofRed).toEqual([
      ['e', 'd</w>'],
      ['r', 'ed</w>'],
    ]);
    expect(tokens.slice(-2)).toEqual(['<|startoftext|>', '<|endoftext|>']);
    expect(new Set(tokens).size).toBe(tokens.length);
  });
});

describe('the converter of prompt encoders', () => {
  let folder: string;
  let input: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'convert-prompt-'));
    input = join(folder, 'input');
    await cp(tinyBertFolder, join(input, 'text_encoder'), { recursive: true });
    await mkdir(join(input, 'tokenizer'));
    await writeFile(join(input, 'tokenizer/words.txt'), 'pictogram\n');
    await mkdir(join(input, 'unet'));
    await writeFile(join(input, 'unet/config.json'), '{}');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function convert(options: Record<string, number> = {}) {
    const outputFolder = await mkdtemp(join(folder, 'out-'));
    const run = convertModel({ kind: 'prompt-encoder', options, inputFolder: input, outputFolder });
    return await run.then(
      (result) => ({ ...result, outputFolder }),
      async (error: unknown) => {
        const left = await readdir(outputFolder, { recursive: true, withFileTypes: true });
        expect(left.filter((entry) => entry.isFile())).toEqual([]);
        throw error;
      },
    );
  }

  it('writes the graph and the tokenizer, and copies the other files', async () => {
    const { converter, files, outputFolder } = await convert();
    expect(converter).toBe('prompt-encoder/1');
    expect(files.toSorted()).toEqual([
      'text_encoder/model.onnx',
      'tokenizer/merges.txt',
      'tokenizer/tokenizer_config.json',
      'tokenizer/vocab.json',
      'unet/config.json',
    ]);
    const text = await readFile(join(outputFolder, 'tokenizer/vocab.json'), 'utf8');
    const vocabulary = JSON.parse(text) as Record<string, number>;
    expect(vocabulary['pictogram</w>']).toBeTypeOf('number');
    expect(Object.values(vocabulary).toSorted((left, right) => left - right)).toEqual(
      Array.from({ length: Object.keys(vocabulary).length }, (_, id) => id),
    );
  });

  it('names what is missing or of another kind', async () => {
    await expect(convert({ bits: 8 })).rejects.toMatchObject({ code: 'INVALID_MODEL' });
    await rm(join(input, 'tokenizer/words.txt'));
    await expect(convert()).rejects.toThrow(/words\.txt cannot be converted: it is missing/);
    await writeFile(join(input, 'text_encoder/tokenizer.json'), '{"model":{"type":"BPE"}}');
    await expect(convert()).rejects.toThrow(/no WordPiece tokenizer/);
  });
});
