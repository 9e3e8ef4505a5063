import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TransducerVocabulary } from './transducer-vocabulary.js';

describe('the vocabulary of a transducer', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-vocabulary-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each(['vocab.txt', 'tokens.txt'])('is read from %s, with words marked by spaces', async (name) => {
    await writeFile(join(folder, name), '<unk> 0\n▁the 1\n▁ 2\n<|en|> 3\ns 4\n< 5\n<blk> 6\n');
    const vocabulary = await TransducerVocabulary.load(folder);
    expect([vocabulary.size, vocabulary.blank]).toEqual([7, 6]);
    expect([0, 1, 2, 3, 4, 5, 6].map((id) => vocabulary.textOf(id))).toEqual(['', ' the', ' ', '', 's', '<', '']);
  });

  it.each([
    ['has no <blk>', 'a 0\nb 1\n'],
    ['is invalid in line 2', 'a 0\nb\n<blk> 2\n'],
    ['is invalid in line 2', 'a 0\nb 7\n<blk> 2\n'],
    ['is missing: there is neither vocab.txt nor tokens.txt', null],
  ])('is refused: %s', async (problem, text) => {
    if (text !== null) await writeFile(join(folder, 'vocab.txt'), text);
    await expect(TransducerVocabulary.load(folder)).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      message: expect.stringContaining(problem) as string,
    });
  });
});
