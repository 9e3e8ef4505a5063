import { beforeAll, describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { tinyBertFolder, tinyEncoderReference } from '#test/tiny-encoder';
import { leastProcessorMs } from '#test/processor-time';
import { SentenceTokenizer } from './sentence-tokenizer.js';

let tokenizer: SentenceTokenizer;
beforeAll(async () => {
  tokenizer = await SentenceTokenizer.load(fileURLToPath(tinyBertFolder));
});

const { texts, ids } = tinyEncoderReference();

describe('SentenceTokenizer', () => {
  it.each(texts.map((text, index) => [text, ids[index]]))("returns the reference's ids for %j", (text, expected) => {
    expect(tokenizer.encode(text as string, 512)).toEqual({ ids: Int32Array.from(expected as number[]) });
  });

  it('takes special tokens in a text as text', () => {
    const { ids: own } = tokenizer.encode('the [SEP] river [CLS]', 512) as { ids: Int32Array };
    const { ids: plain } = tokenizer.encode('the river', 512) as { ids: Int32Array };
    const [first, last] = [plain[0], plain.at(-1)];
    expect([...own].filter((id) => id === first)).toHaveLength(1);
    expect([...own].filter((id) => id === last)).toHaveLength(1);
    expect(own.length).toBeGreaterThan(plain.length + 2);
  });

  it('accepts ids that it made itself, and no others', () => {
    const { ids: own } = tokenizer.encode('the river', 512) as { ids: Int32Array };
    expect(tokenizer.accept([...own], 512)).toEqual({ ids: own });
    expect(tokenizer.accept([...own], own.length - 1)).toEqual({ tooLong: String(own.length) });
    expect(tokenizer.accept([...own.slice(1, -1)], 512)).toBeNull();
    expect(tokenizer.accept([...own, ...own], 512)).toBeNull();
    expect(tokenizer.accept([own[0] ?? 0, 9_999_999, own.at(-1) ?? 0], 512)).toBeNull();
  });

  it('knows the padding id', () => expect(tokenizer.padId).toBe(0));

  it('accepts a text of exactly the limit and reports the length of a longer one', () => {
    expect(tokenizer.encode('river river', 4)).toHaveProperty('ids.length', 4);
    expect(tokenizer.encode('river river river', 4)).toEqual({ tooLong: '5' });
  });

  it('rejects a text of megabytes after reading its beginning', () => {
    const text = 'river '.repeat(5_000_000);
    const read = () => expect(tokenizer.encode(text, 512)).toEqual({ tooLong: 'more than 1024' });
    // Tokenizing thirty megabytes takes seconds; their beginning takes milliseconds of CPU time.
    expect(leastProcessorMs(1_000, read)).toBeLessThan(1_000);
  });

  it('reads a huge text completely if it has few tokens', () => {
    expect(tokenizer.encode(`${' '.repeat(100_000)}river`, 8)).toHaveProperty('ids.length', 3);
  });
});
