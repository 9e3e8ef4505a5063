import { beforeAll, describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { tinyBertFolder, tinyEncoderReference } from '#test/tiny-encoder';
import { SentenceTokenizer } from './sentence-tokenizer.js';

let tokenizer: SentenceTokenizer;
beforeAll(async () => {
  tokenizer = await SentenceTokenizer.load(fileURLToPath(tinyBertFolder));
});

const { texts, ids } = tinyEncoderReference();

describe('the tokenizer of sentences', () => {
  it.each(texts.map((text, index) => [text, ids[index]]))('gives %j the ids of the reference', (text, expected) => {
    expect(tokenizer.encode(text as string, 512)).toEqual({ ids: Int32Array.from(expected as number[]) });
  });

  it('knows the id of the padding', () => expect(tokenizer.padId).toBe(0));

  it('takes a text of just the limit and says how long a longer one is', () => {
    expect(tokenizer.encode('river river', 4)).toHaveProperty('ids.length', 4);
    expect(tokenizer.encode('river river river', 4)).toEqual({ tooLong: '5' });
  });

  it('knows by its beginning that a text of megabytes is too long', () => {
    const startedAt = process.cpuUsage();
    expect(tokenizer.encode('river '.repeat(5_000_000), 512)).toEqual({ tooLong: 'more than 1024' });
    // Thirty megabytes take seconds to tokenize; their beginning takes milliseconds of processor time.
    expect(process.cpuUsage(startedAt).user).toBeLessThan(1_000_000);
  });

  it('reads a huge text whole where it has few tokens', () => {
    expect(tokenizer.encode(`${' '.repeat(100_000)}river`, 8)).toHaveProperty('ids.length', 3);
  });
});
