import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteLevelTokenizer, sentencePieceTokenizer } from '#test/tiny-models/tiny-tokenizer';
import { TextTokenizer, type TokenizerConfig } from './text-tokenizer.js';

const sentencePiece = sentencePieceTokenizer();
const byteLevel = byteLevelTokenizer();

/** WordPiece tokens with `##`: the text of a token depends on whether it is the first. */
const wordPieceVocabulary = ['[UNK]', 'river', 'stone', '##s', 'ran', '##ning', '!', '水'];
const wordPiece = {
  tokenizerJson: {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'Whitespace' },
    post_processor: null,
    decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(wordPieceVocabulary.map((token, id) => [token, id])),
    },
  },
  tokenizerConfig: { unk_token: '[UNK]' },
  vocabularySize: wordPieceVocabulary.length,
};

const kinds = [
  ['SentencePiece with byte fallback', sentencePiece],
  ['byte-level BPE', byteLevel],
  ['WordPiece, decoded in a window', wordPiece],
] as const;

function open({ tokenizerJson, tokenizerConfig }: { tokenizerJson: object; tokenizerConfig: object }): TextTokenizer {
  return TextTokenizer.fromFiles(tokenizerJson, tokenizerConfig as TokenizerConfig);
}

function deltasOf(tokenizer: TextTokenizer, ids: number[]): string[] {
  const detokenizer = tokenizer.detokenizer({ stripLeadingSpaces: true });
  return [...ids.map((id) => detokenizer.push(id)), detokenizer.flush()];
}

describe.each(kinds)('detokenizing %s', (_name, kind) => {
  const tokenizer = open(kind);
  const library = new Tokenizer(kind.tokenizerJson, kind.tokenizerConfig);
  const special = new Set(
    (kind.tokenizerJson.added_tokens as { id: number }[] | undefined)?.map((token) => token.id) ?? [],
  );

  it('joins the deltas of any tokens to the text of decoding all at once', () => {
    const ids = fc.array(fc.integer({ min: 0, max: kind.vocabularySize - 1 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(ids, (random) => {
        const visible = random.filter((id) => !special.has(id));
        fc.pre(visible.length > 0);
        const whole = library.decode(visible, { clean_up_tokenization_spaces: false });
        // The library drops a byte order mark at the start of each run of byte tokens; our text keeps it.
        fc.pre(!deltasOf(tokenizer, random).join('').includes('\uFEFF'));
        expect(deltasOf(tokenizer, random).join('')).toBe(whole);
      }),
      { numRuns: 300 },
    );
  });

  it('tokenizes a text within a limit as without one, and rejects none that fits', () => {
    const piece = fc.constantFrom(
      'a',
      'the',
      ' river',
      ' ',
      '  ',
      '\n',
      '水',
      '🌊',
      '.',
      '</s>',
      ' zqzqzqzq'.repeat(9),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 0, max: 100 }), (pieces, limit) => {
        const text = pieces.join('');
        const all = tokenizer.encode(text);
        const within = tokenizer.encodeWithin(text, limit);
        if (within === null) expect(all.length).toBeGreaterThan(limit);
        else expect(within).toEqual(all);
        expect(tokenizer.encode(text)).toEqual(all);
      }),
      { numRuns: 300 },
    );
  });

  it('tokenizes any text as the library does', () => {
    const piece = fc.constantFrom('a', 'the', ' river', ' ', '  ', '\n', '水', '🌊', '▁', '.', '</s>', '<0x41>');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        const expected = text === '' ? [] : library.encode(text, { add_special_tokens: false }).ids;
        expect(tokenizer.encode(text)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('leaves an incomplete character out where the text is cut off', () => {
    const text = kind === wordPiece ? 'river 水 !' : 'a 水 🌊 é 👩‍🚀 b';
    const ids = tokenizer.encode(text);
    for (let length = 0; length <= ids.length; length++) {
      const detokenizer = tokenizer.detokenizer({ stripLeadingSpaces: true });
      const deltas = ids.slice(0, length).map((id) => detokenizer.push(id));
      const cut = [...deltas, detokenizer.flush(true)].join('');
      expect(text.slice(0, cut.length)).toBe(cut);
      expect(cut).not.toContain('\uFFFD');
    }
  });

  it('never splits a character over two deltas', () => {
    const text = kind === wordPiece ? 'river 水 !' : 'a 水 🌊 é 👩‍🚀 b';
    const ids = [...tokenizer.encode(text)];
    const deltas = deltasOf(tokenizer, ids);
    expect(deltas.join('')).toBe(text);
    for (const delta of deltas) expect(delta).not.toContain('\uFFFD');
    for (const delta of deltas) expect(delta.isWellFormed()).toBe(true);
  });
});

describe('TextTokenizer', () => {
  it('adds exactly one BOS, also if the template already wrote it', () => {
    const tokenizer = open(sentencePiece);
    expect([...tokenizer.encodePrompt('river')].filter((id) => id === 1)).toEqual([1]);
    expect([...tokenizer.encodePrompt('<s>river')].filter((id) => id === 1)).toEqual([1]);
    expect(tokenizer.encodePrompt('river')[0]).toBe(1);
  });

  it('adds no BOS if the tokenizer has none, and nothing at the end', () => {
    const tokenizer = open(byteLevel);
    expect([...tokenizer.encodePrompt('river')]).toEqual(tokenizer.encode('river'));
    expect(open(sentencePiece).encodePrompt('river').at(-1)).not.toBe(2);
  });

  it('returns only the BOS for an empty prompt', () => {
    expect([...open(sentencePiece).encodePrompt('')]).toEqual([1]);
    expect([...open(byteLevel).encodePrompt('')]).toEqual([]);
  });

  it('considers special tokens for the longest token', () => {
    const { tokenizerJson, tokenizerConfig } = byteLevel;
    const content = `<|${'long'.repeat(20)}|>`;
    const file = { ...tokenizerJson, added_tokens: [{ id: 0, content, special: true }] };
    expect(TextTokenizer.fromFiles(file, tokenizerConfig).longestTokenBytes).toBe(84);
  });

  it('reads special tokens written as objects', () => {
    const { tokenizerJson, tokenizerConfig } = sentencePiece;
    const config = { ...tokenizerConfig, eos_token: { content: '</s>' } } as TokenizerConfig;
    const tokenizer = TextTokenizer.fromFiles(tokenizerJson, config);
    expect(tokenizer.special.eos).toBe('</s>');
    expect(tokenizer.eosTokenId).toBe(2);
  });

  it('keeps the space before a continuation and drops it before a response', () => {
    const tokenizer = open(sentencePiece);
    const ids = tokenizer.encode('river');
    expect(tokenizer.decode(ids)).toBe(' river');
    expect(tokenizer.decode(ids, { stripLeadingSpaces: true })).toBe('river');
  });

  it('turns incomplete characters into U+FFFD at the end', () => {
    const tokenizer = open(sentencePiece);
    const bytes = tokenizer.encode('水').filter((id) => id >= 3 && id < 259);
    expect(bytes).toHaveLength(3);
    expect(tokenizer.decode(bytes.slice(0, 2))).toBe('\uFFFD');
  });

  it('describes a token that is half a character by its bytes', () => {
    const tokenizer = open(sentencePiece);
    const first = tokenizer.encode('水').find((id) => id >= 3 && id < 259) ?? 0;
    expect(tokenizer.describeToken(first)).toEqual({ token: 'bytes:\\xe6', bytes: [0xe6] });
    expect(tokenizer.describeToken(2)).toEqual({ token: '</s>', bytes: [...Buffer.from('</s>')] });
  });

  it.each([
    ['no JSON', 'tokenizer.json', '{"model":'],
    ['no model', 'tokenizer.json', '{}'],
    ['no JSON', 'tokenizer_config.json', '{'],
  ])('names a file with %s: %s', async (_, name, content) => {
    const folder = await mkdtemp(join(tmpdir(), 'tokenizer-'));
    try {
      await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(byteLevel.tokenizerJson));
      await writeFile(join(folder, name), content);
      const refused = TextTokenizer.load(folder);
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_MODEL', param: name });
      await expect(refused).rejects.toThrow(`The file ${name} cannot be used: `);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('omits special tokens from the text', () => {
    const tokenizer = open(sentencePiece);
    expect(tokenizer.decode([...tokenizer.encode('river'), 2], { stripLeadingSpaces: true })).toBe('river');
  });
});

describe('one unbroken word of many pieces', () => {
  const tokenizer = open(byteLevel);
  const word = 'river'.repeat(10_000);

  it('has the same tokens with and without a limit', () => {
    const all = tokenizer.encode(word);
    expect(tokenizer.encodeWithin(word, all.length)).toEqual(all);
  });

  it('is rejected if its pieces are far too many', () => {
    expect(tokenizer.encodeWithin(word, 1_000)).toBeNull();
  });
});
