import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { describe, expect, it } from 'vitest';
import { GgufMetadata } from '../gguf/gguf-metadata.js';
import { readGgufTokenizer } from '../gguf/gguf-tokenizer.js';
import type { GgufValue } from '../gguf/gguf-types.js';
import { mergesFromScores } from './sentencepiece-tokenizer.js';
import { wordRuleNames, wordRules } from './word-rules.js';

/*
 * Texts of many scripts, symbols and code become the tokens that the reference libraries make of them, whatever the rule.
 * The texts follow from a seed, here as in `make-fixtures.py`, which also says how the expected ids were made. A thousand
 * are checked here, and 5,000 by `npm run nightly -- tokenizers`.
 */

interface Alphabet {
  words?: string[];
  ranges?: [first: number, last: number][];
}

interface Pieces {
  pieces: string[];
  scores: number[];
  types: number[];
  prefix: boolean;
  expected: string[];
}

interface Reference {
  bytes: { tokens: string[]; merges: string[]; expected: Record<string, string[]> };
  pieces: Record<string, Pieces>;
}

const fixture = async (name: string): Promise<unknown> =>
  JSON.parse(await readFile(new URL(`./__fixtures__/${name}`, import.meta.url), 'utf8'));
const alphabets = (await fixture('alphabets.json')) as Alphabet[];
const { bytes, pieces } = (await fixture('reference.json')) as Reference;
const textsPerHash = 100;
const count = Number(process.env['SLUICE_TEST_TOKENIZER_TEXTS'] ?? 1_000);

function textsOf(seed: number, count: number): string[] {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % limit;
  };
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  const part = (): string => {
    const { words, ranges = [] } = pick(alphabets);
    if (words) return pick(words);
    const characters = Array.from({ length: 1 + below(5) }, () => {
      const [first, last] = pick(ranges);
      return String.fromCodePoint(first + below(last - first + 1));
    });
    return characters.join('');
  };
  return Array.from({ length: count }, () => Array.from({ length: 1 + below(10) }, part).join(''));
}

const texts = textsOf(2, count);

function tokenizerOf(entries: Record<string, GgufValue>): Tokenizer {
  const metadata = new Map(Object.entries(entries).map(([key, value]) => [`tokenizer.ggml.${key}`, value]));
  const { tokenizerJson, tokenizerConfig } = readGgufTokenizer(new GgufMetadata('test.gguf', metadata), 10_000);
  return new Tokenizer(tokenizerJson, tokenizerConfig);
}

/** Compares hashes of the ids of every hundred texts, without the tokens that surround a prompt. */
function expectReference(tokenizer: Tokenizer, expected: readonly string[]): void {
  const lines = texts.map((text) => tokenizer.encode(text, { add_special_tokens: false }).ids.join(' '));
  const hashes = Array.from({ length: lines.length / textsPerHash }, (_, index) => {
    const part = lines.slice(index * textsPerHash, (index + 1) * textsPerHash);
    return createHash('sha256').update(part.join('\n')).digest('hex').slice(0, 12);
  });
  expect(hashes).toEqual(expected.slice(0, count / textsPerHash));
}

describe('a tokenizer of bytes', () => {
  const added = ['<|end|>', '<tool>'];
  const tokens = [...bytes.tokens, ...added];
  const types = [...bytes.tokens.map(() => 1), 3, 4];

  it('has a reference for every rule', () => {
    expect(Object.keys(bytes.expected)).toEqual(wordRuleNames().map(([name]) => name));
    expect([...wordRules.keys()].sort()).toEqual(wordRuleNames().flat().sort());
  });

  it.each(Object.entries(bytes.expected))('makes the tokens of the reference: %s', (pre, expected) => {
    const tokenizer = tokenizerOf({ model: 'gpt2', pre, tokens, token_type: types, merges: bytes.merges });
    expectReference(tokenizer, expected);
  });
});

describe('a tokenizer of pieces', () => {
  it.each(Object.entries(pieces))('makes the tokens of the reference: %s', (_, reference) => {
    const { pieces: tokens, scores, types, prefix, expected } = reference;
    const entries = { model: 'llama', tokens, scores, token_type: types, add_space_prefix: prefix };
    expectReference(tokenizerOf(entries), expected);
  });

  it('makes the same tokens by a list of merges', () => {
    const { pieces: tokens = [], scores = [], types = [], expected = [] } = pieces['gemma'] ?? {};
    const added = types.flatMap((type, id) =>
      type > 1 && type < 5 ? [{ id, content: tokens[id] ?? '', special: type < 4 }] : [],
    );
    const merges = mergesFromScores({ pieces: tokens, scores, added });
    const entries = { model: 'gemma4', tokens, token_type: types, merges, bos_token_id: 1, unknown_token_id: 0 };
    expectReference(tokenizerOf(entries), expected);
  });
});
