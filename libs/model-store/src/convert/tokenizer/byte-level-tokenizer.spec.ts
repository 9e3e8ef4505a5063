import { Tokenizer } from '@huggingface/tokenizers';
import { describe, expect, it } from 'vitest';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { byteLevelTokenizerJson } from './byte-level-tokenizer.js';
import { wordRules } from './word-rules.js';

const model = tinyDecoder('qwen', 1).tokenizer.tokenizerJson.model as {
  vocab: Record<string, number>;
  merges: string[];
};
// Merges across the borders of the split patterns: digits, an apostrophe, a line break.
const extraMerges = ['1 2', '12 3', "' s", 'Ċ Ċ', 't h'];
const tokens: string[] = [];
for (const [token, id] of Object.entries(model.vocab)) tokens[id] = token;
for (const merge of extraMerges) tokens.push(merge.replace(' ', ''));

function tokenizerFor(pattern: string): Tokenizer {
  const json = byteLevelTokenizerJson({
    tokens,
    merges: [...extraMerges, ...model.merges],
    added: [],
    bos: null,
    eos: null,
    addsBos: false,
    addsEos: false,
    words: wordRules.get(pattern) ?? { patterns: [] },
  });
  return new Tokenizer(json, {});
}

const texts = [
  "It's 1234 o'clock, THE river said.",
  'naïve 漢字 🙂 ok',
  '  two  spaces\n\n\nand lines',
  "WE'LL see 56",
];

describe('byteLevelTokenizerJson', () => {
  it.each([...wordRules.keys()])('encodes and decodes every text: %s', (pattern) => {
    const tokenizer = tokenizerFor(pattern);
    for (const text of texts) expect(tokenizer.decode(tokenizer.encode(text).ids)).toBe(text);
  });

  it.each([
    ['gpt-2', ['123']],
    ['llama-bpe', ['123']],
    ['qwen2', ['1', '2', '3']],
  ])('splits numbers as the rule requires: %s', (pattern, pieces) => {
    expect(tokenizerFor(pattern).encode('123').tokens).toEqual(pieces);
  });

  it('splits long numbers into groups of three if the rule requires it', () => {
    expect(tokenizerFor('llama-bpe').encode('123123').tokens).toEqual(['123', '123']);
  });
});
