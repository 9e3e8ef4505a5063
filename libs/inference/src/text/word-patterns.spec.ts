import { describe, expect, it } from 'vitest';
import { measureSilence } from '#test/loop-silence';
import { TextTokenizer, type TokenizerFile } from './text-tokenizer.js';

/** A tokenizer whose tokens are bytes, which splits texts by these expressions. */
function fileWith(...patterns: string[]): TokenizerFile {
  const letters = [...'abcdefghijklmnopqrstuvwxyz0123456789(Ġ'];
  return {
    model: { type: 'BPE', vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])), merges: [] },
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        ...patterns.map((Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false })),
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    added_tokens: [],
  } as TokenizerFile;
}
const load = (...patterns: string[]) => TextTokenizer.fromFiles(fileWith(...patterns), {});

describe('the expressions of a tokenizer', () => {
  it('take blanks at the end of a text in linear time, and split as before', async () => {
    const tokenizer = load(String.raw`\s+$`);
    expect(tokenizer.decode(tokenizer.encode('a  b   '))).toBe('a  b   ');
    const text = `${' '.repeat(200_000)}(`;
    const { totalMs } = await measureSilence(() => Promise.resolve(tokenizer.encode(text)));
    // As written, it takes two minutes.
    expect(totalMs).toBeLessThan(3_000);
  });

  it.each([
    ['quadratic', String.raw`\s+x`],
    ['quadratic between alternatives', String.raw`\p{N}|[^\n]+\n`],
    ['cubic', String.raw`\s*\s*x`],
    ['exponential', '(a+)+$'],
  ])('are refused when the model is loaded: %s', (_name, pattern) => {
    expect(() => load(pattern)).toThrow(
      expect.objectContaining({
        code: 'INVALID_MODEL',
        message:
          'The file tokenizer.json cannot be used: an expression of it takes time that grows faster than a text.',
      }),
    );
  });

  it.each([
    String.raw`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
    String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
    ' ?[^(\\s|.,!?…。，、।۔،)]+',
  ])('are accepted where they are linear: %s', (pattern) => {
    expect(load(pattern).encode('ab 12').length).toBe(5);
  });
});
