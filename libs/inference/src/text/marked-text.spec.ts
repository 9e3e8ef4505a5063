import { Tokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { controlTexts, namedTexts, ordinaryTokens, tokenizerKinds } from '#test/tiny-models/tokenizer-kinds';
import { TextTokenizer } from './text-tokenizer.js';

const ordinary = [
  ...['a', 'the', ' river', ' ', '  ', '\n', '\t', '水', '🌊', '🐀', '👩‍🚀', 'e\u0301', '.', ',', '"', "'s", '_', '-'],
  ...[
    '<',
    '>',
    '[',
    ']',
    '|',
    '/',
    '<<',
    '<|',
    '|>',
    '</',
    'a[0] < b[1]',
    '<div>',
    '</div>',
    '<\u0338',
    '＜',
    '｜',
    '▁',
  ],
  ...['s', 'think', 'INST', 'user', 'im_end', 'Σ', 'İ', '\u200b', '\u0000', '\ufeff', '<0x41>', ...ordinaryTokens],
];
const hostile = [...controlTexts, ...namedTexts];
/** Forms that a normalizer turns into control tokens. */
const disguised = [
  '＜/s＞',
  'ＥＮＤＯＦＴＵＲＮ',
  '≮/s>',
  '<\u200b/s>',
  '＜|im_end|＞',
  '<\ufeffs>',
  '</S>',
  '[\u00adCLS]',
  '［SEP］',
  '<|\u200bim_end|>',
];

/** Every character, but for spaces and the added tokens of ordinary text. */
const apartFromTokens = new RegExp(`(${ordinaryTokens.join('|')})|[^ ▁]`, 'gu');

/** Tokens of `the </s>` as text of a caller. */
const known: Record<string, string> = {
  'byte-level BPE': 't he   < / s >',
  'byte-level BPE that takes whole words': 't he   < / s >',
  'byte-level BPE, tokens found after an empty normalizer': 't he   < / s >',
  'byte-level BPE, tokens that take the space around them': 't he   < / s >',
  'byte-level BPE after NFC': 't he   < / s >',
  'SentencePiece with a dummy prefix': ' the   < / s >',
  'SentencePiece with a dummy prefix, tokens found after the normalizer': ' the   < / s >',
  'SentencePiece without a prefix': 't he   < / s >',
  'unigram, a prefix for each section': ' the   < / s >',
  'unigram, a prefix for the first section': ' the   < / s >',
  'WordPiece, split at punctuation': 'the < / s >',
  'WordPiece, split at white space': 'the < / ##s ##>',
};

describe.each(tokenizerKinds)('%s', (name, { tokenizerJson, tokenizerConfig }) => {
  const template = namedTexts.join(' ');
  const tokenizer = TextTokenizer.fromFiles(tokenizerJson, tokenizerConfig, [], template);
  const library = new Tokenizer(tokenizerJson, tokenizerConfig);
  const unknownId = tokenizer.idOf(tokenizerConfig.unk_token as string | null) ?? -1;
  const controlIds = new Set(hostile.map((text) => tokenizer.idOf(text)));
  const controlsOf = (ids: readonly number[]) => ids.filter((id) => controlIds.has(id) && id !== unknownId);
  const spellsSpaces = JSON.stringify(tokenizerJson.decoder).includes('▁');
  const reference = (text: string) => (text === '' ? [] : library.encode(text, { add_special_tokens: false }).ids);

  it('gives ordinary text of callers the tokens that the library gives it', () => {
    const texts = fc.array(fc.constantFrom(...ordinary), { maxLength: 40 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, texts, (caller, other) => {
        fc.pre(!hostile.some((text) => `${caller}${other}`.includes(text)));
        const [before, after] = [`${hostile[6]}\n`, `\n${hostile[1]} ${other}`];
        const expected = reference(before + caller + after);
        // A text that a normalizer turns into a control token is not ordinary.
        fc.pre([caller, other].every((text) => controlsOf(reference(`a ${text} b`)).length === 0));
        fc.pre(controlsOf(expected).length === controlsOf(reference(before + after)).length);
        expect(tokenizer.encode(before + tokenizer.control.mark(caller) + after)).toEqual(expected);
        expect(tokenizer.encode(before + caller + after)).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  it('finds no control token in any text of a caller, and those of the template around it', () => {
    const texts = fc
      .array(fc.constantFrom(...hostile, ...hostile, ...disguised, ...ordinary), { maxLength: 12 })
      .map((parts) => parts.join(''));
    const [open, close] = ['<|im_start|>', '<|im_end|>'];
    const around = [open, close].map((text) => tokenizer.idOf(text));
    fc.assert(
      fc.property(texts, (text) => {
        expect(controlsOf(tokenizer.encodePlain(text))).toEqual([]);
        const found = controlsOf(tokenizer.encode(`${open}${tokenizer.control.mark(text)}${close}`));
        // Behind a dummy prefix the library itself finds such tokens only where a space is before them.
        const harmless = text.replaceAll(apartFromTokens, (_found, token?: string) => token ?? 'x');
        expect(found).toEqual(controlsOf(reference(open + harmless + close)));
        expect(around).toEqual(expect.arrayContaining(found));
      }),
      { numRuns: 300 },
    );
  });

  it('spells a control token as the text that it is', () => {
    const tokens = tokenizer.encodePlain('the </s>').map((id) => tokenizer.describeToken(id).token);
    expect(tokens.join(' ')).toBe(known[name]);
    for (const text of hostile) {
      const ids = tokenizer.encodePlain(`a ${text} b`);
      const raw = tokenizer.encode(`a ${text} b`);
      expect(controlsOf(ids), text).toEqual([]);
      if (controlsOf(raw).length > 0 && !ids.includes(unknownId)) expect(ids.length, text).toBeGreaterThan(raw.length);
      if (tokenizer.tokenBytes === null || ids.includes(unknownId)) continue;
      // These vocabularies have no other sign for a space.
      const spaced = (spelled: string) => (spellsSpaces ? spelled.replaceAll('▁', ' ') : spelled);
      expect(tokenizer.decode(ids, { stripLeadingSpaces: true })).toBe(spaced(`a ${text} b`));
    }
  });

  it('matches no control token across the end of a text', () => {
    for (const text of hostile) {
      for (let cut = 1; cut < text.length; cut++) {
        const [head, tail] = [text.slice(0, cut), text.slice(cut)];
        // A template that writes all signs of a token around a caller's letters names the token itself, as for roles.
        if (/^[\p{L}\p{N}_]*$/u.test(tail) || /^[\p{L}\p{N}_]*$/u.test(head)) continue;
        expect(controlsOf(tokenizer.encode(head + tokenizer.control.mark(tail))), text).toEqual([]);
        expect(controlsOf(tokenizer.encode(tokenizer.control.mark(head) + tail)), text).toEqual([]);
      }
    }
    for (const name of ['s', 'tool_call', 'think', '|im_end|', '/s']) {
      expect(controlsOf(tokenizer.encode(`<${tokenizer.control.mark(name)}>`)), name).toEqual([]);
    }
  });

  it('reads a text of many control tokens in one pass', () => {
    const startedAt = process.cpuUsage();
    const text = '</s><|im_end|>'.repeat(5_000);
    expect(controlsOf(tokenizer.encodePlain(text))).toEqual([]);
    expect(process.cpuUsage(startedAt).user).toBeLessThan(10_000_000);
  });
});
