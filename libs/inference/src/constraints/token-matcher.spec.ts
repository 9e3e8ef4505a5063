import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasRepeatedName } from '#test/repeated-names';
import { anySchema } from '#test/schema-arbitrary';
import { seededRandom } from '#test/seeded-random';
import { wordTrie } from '#test/word-trie';
import { isAllowed } from '../sampling/token-constraint.js';
import type { Automaton, State } from './automaton.js';
import { automatonOf } from './schema-automaton.js';
import { type MaskBudget, maskBudget, MaskCache, TokenMatcher } from './token-matcher.js';
import { buildTokenTrie } from './token-trie.js';

const encoder = new TextEncoder();
const endToken = 0;

/** Every byte, and pieces as vocabularies have them: words, JSON punctuation, halves of characters, one text twice. */
const pieces = [
  ...['{"', '":', '": ', '",', '", "', '"}', '"]', '[{', '}]', ']}', '},{', '{}', '[]', '\n', '\n  ', '  ', ' "', '""'],
  ...['true', 'tr', 'ue', 'false', 'null', 'nu', ' true', '12', '0.5', '00', '-1', '.5', 'e5', '2024-', '-01'],
  ...['name', 'nam', 'e"', 'foo', 'foo"', ' bar', 'abc', 'aaaa', 'é', '😀', '\\u00', '\\n', '\\"', 'kind', 'x', 'x'],
];
const table = [
  new Uint8Array(0),
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...pieces.map((piece) => encoder.encode(piece)),
  encoder.encode('😀').subarray(0, 2),
  encoder.encode('😀').subarray(2),
];
const allIds = [...table.keys()];
const trie = buildTokenTrie(table, new Set([endToken]));

function follows(automaton: Automaton, state: State, bytes: Uint8Array): State | null {
  let at: State | null = state;
  for (const byte of bytes) at = at && automaton.next(at, byte);
  return at;
}

/** A text of random tokens among the allowed ones, that ends as soon as it may once it is long. */
function sampleText(automaton: Automaton, masks: MaskCache, random: () => number): string | null {
  const matcher = new TokenMatcher(automaton, masks, [endToken]);
  const bytes: number[] = [];
  for (let step = 0; step < 400; step++) {
    if (matcher.isFinished()) return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    const allowed = matcher.allowed();
    const ids = allIds.filter((id) => isAllowed(allowed, id));
    const closing = ids.filter((id) => /^["\]}]+$/.test(String.fromCharCode(...(table[id] ?? []))));
    const from = step > 60 && closing.length > 0 && random() < 0.8 ? closing : ids;
    const id =
      allowed.endings.length > 0 && (step > 30 || random() < 0.3)
        ? endToken
        : (from[Math.floor(random() * from.length)] ?? 0);
    if (id === endToken) return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    matcher.accept(id);
    bytes.push(...(table[id] ?? []));
  }
  return null;
}

describe('TokenMatcher', () => {
  it('lets only texts through that an independent validator accepts, whatever tokens are drawn', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    let finished = 0;
    let refused = 0;
    fc.assert(
      fc.property(anySchema, fc.integer(), (schema, seed) => {
        let automaton: Automaton;
        try {
          automaton = automatonOf(schema);
        } catch {
          refused++;
          return;
        }
        const validate = ajv.compile(schema);
        const random = seededRandom(seed);
        const masks = new MaskCache(trie);
        for (let round = 0; round < 3; round++) {
          const text = sampleText(automaton, masks, random);
          if (text === null) continue;
          finished++;
          expect([text, validate(JSON.parse(text)), hasRepeatedName(text)]).toEqual([text, true, false]);
        }
        ajv.removeSchema(schema);
      }),
      { numRuns: 150 },
    );
    expect(finished).toBeGreaterThan(150);
    expect(refused).toBeLessThan(75);
  }, 120_000);

  it('offers exactly the tokens whose bytes the grammar goes on with, in counted strings and lists too', () => {
    const schemas = [
      { type: 'string', minLength: 40, maxLength: 90 },
      { type: 'array', items: { type: 'integer', minimum: 0, maximum: 12 }, minItems: 3, maxItems: 30 },
      {
        type: 'object',
        properties: { name: { type: 'string', pattern: '^fo+$', maxLength: 20 }, kind: { enum: ['foo', 'x', 'é😀'] } },
        additionalProperties: false,
      },
      { type: 'array', items: { type: ['string', 'number', 'null'] } },
    ];
    const random = seededRandom(7);
    for (const schema of schemas) {
      const automaton = automatonOf(schema);
      const masks = new MaskCache(trie);
      for (let round = 0; round < 5; round++) {
        const matcher = new TokenMatcher(automaton, masks, [endToken]);
        let state: State = automaton.start;
        for (let step = 0; step < 60 && !matcher.isFinished(); step++) {
          const allowed = matcher.allowed();
          const expected = allIds.filter(
            (id) => id > 0 && follows(automaton, state, table[id] ?? new Uint8Array(0)) !== null,
          );
          const found = allIds.filter((id) => id > 0 && isAllowed(allowed, id));
          expect(found).toEqual(expected);
          expect(allowed.endings).toEqual(state.isComplete ? [endToken] : []);
          const id = found[Math.floor(random() * found.length)];
          if (id === undefined) break;
          matcher.accept(id);
          state = follows(automaton, state, table[id] ?? new Uint8Array(0)) ?? state;
        }
      }
    }
  });

  it('computes one mask for all places deep inside a long string', () => {
    const automaton = automatonOf({ type: 'string', maxLength: 5_000 });
    const masks = new MaskCache(trie);
    const matcher = new TokenMatcher(automaton, masks, [endToken]);
    matcher.accept(1 + '"'.charCodeAt(0));
    const { bits } = matcher.allowed();
    for (let step = 0; step < 4_000; step++) matcher.accept(1 + 'a'.charCodeAt(0));
    expect(matcher.allowed().bits).toBe(bits);
    for (let step = 4_000; step < 5_000; step++) matcher.accept(1 + 'a'.charCodeAt(0));
    expect(allIds.filter((id) => isAllowed(matcher.allowed(), id))).toEqual([1 + '"'.charCodeAt(0)]);
  });

  it('is finished only where nothing may follow', () => {
    const matcher = new TokenMatcher(automatonOf({ enum: [1, 12] }), new MaskCache(trie), [endToken]);
    matcher.accept(1 + '1'.charCodeAt(0));
    expect([matcher.allowed().endings, matcher.isFinished()]).toEqual([[endToken], false]);
    matcher.accept(1 + '2'.charCodeAt(0));
    expect([matcher.allowed().endings, matcher.isFinished()]).toEqual([[endToken], true]);
  });
});

describe('TokenMatcher with a budget', () => {
  const trie = wordTrie(4_000);
  const token = 'b'.charCodeAt(0) + 1;
  const matcherOf = (budget: Partial<MaskBudget>): TokenMatcher =>
    new TokenMatcher(automatonOf({ pattern: '.*a.{40}' }), new MaskCache(trie), [0], { ...maskBudget, ...budget });
  const quote = '"'.charCodeAt(0) + 1;
  const untilReady = (matcher: TokenMatcher): number => {
    let calls = 1;
    while (!matcher.prepare(0)) calls++;
    return calls;
  };

  it('finds the same tokens in slices as at once', () => {
    const [sliced, whole] = [matcherOf({}), matcherOf({})];
    for (let count = 0; count < 20; count++) {
      if (count < 2) expect(untilReady(sliced)).toBeGreaterThan(1);
      else untilReady(sliced);
      expect(sliced.allowed()).toEqual(whole.allowed());
      for (const matcher of [sliced, whole]) matcher.accept(count === 0 ? quote : token);
    }
  });

  it('refuses the text whose masks take longer than the budget, not one that is within it', () => {
    const spent = matcherOf({ textMs: 0, tokenMs: 0 });
    const refusal = 'The schema is too ambiguous: choosing tokens by it takes too long.';
    expect(() => untilReady(spent)).toThrow(refusal);
    const renewed = matcherOf({ textMs: 0, tokenMs: 1_000_000 });
    expect(() => untilReady(renewed)).toThrow(refusal);
    renewed.accept(quote);
    expect(untilReady(renewed)).toBeGreaterThan(0);
    expect(() => untilReady(matcherOf({ maxMs: 0 }))).toThrow(refusal);
  });
});
