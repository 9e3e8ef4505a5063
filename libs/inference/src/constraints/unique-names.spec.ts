import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasRepeatedName } from '#test/repeated-names';
import { seededRandom } from '#test/seeded-random';
import { isAllowed } from '../sampling/token-constraint.js';
import { Automaton } from './automaton.js';
import { Grammar } from './grammar.js';
import { JsonGrammar } from './json-grammar.js';
import { RegionAutomaton } from './region-automaton.js';
import { automatonOf } from './schema-automaton.js';
import type { TextAutomaton } from './text-automaton.js';
import { MaskCache, TokenMatcher } from './token-matcher.js';
import { buildTokenTrie } from './token-trie.js';

/** Every byte, and tokens that begin, end or hold names. */
const pieces = [
  ...[
    '"a',
    '"b"',
    'a"',
    'b":',
    'a":1',
    ',"',
    ', "',
    ',"a',
    ', "b',
    '},"a":',
    '{"a":',
    '{"a":1,"',
    '":{"',
    '"a":{"b',
    'ab',
  ],
  ...[
    '\\u0061',
    '\\u006',
    '1"',
    '61"',
    '\\"',
    '\\n',
    '\\n":',
    '1,"a"',
    '{"a":1,"a"',
    'é"',
    'true',
    'aa',
    'bb"',
    '"}',
    '}}',
  ],
];
const table = [
  new Uint8Array(0),
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...pieces.map((piece) => new TextEncoder().encode(piece)),
];
const trie = buildTokenTrie(table, new Set([0]));
const ids = [...table.keys()].slice(1);

function matcherOf(automaton: TextAutomaton): TokenMatcher {
  return new TokenMatcher(automaton, new MaskCache(trie), [0]);
}

function isValidUtf8(bytes: readonly number[]): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}

/** A text of few different characters, so that names are often the same. */
function sample(matcher: TokenMatcher, random: () => number, steps = 150): { text: string; isFinished: boolean } {
  const bytes: number[] = [];
  const read = (): string => new TextDecoder().decode(Uint8Array.from(bytes));
  for (let step = 0; step < steps; step++) {
    if (matcher.isFinished()) return { text: read(), isFinished: true };
    const allowed = matcher.allowed();
    const open = ids.filter((id) => isAllowed(allowed, id));
    const likely = open.filter((id) => id > 256 || 'ab"{}[]:,1\\un06'.includes(String.fromCharCode(id - 1)));
    const closing = likely.filter((id) => /^["\]}]+$/.test(String.fromCharCode(...(table[id] ?? []))));
    const from = step > 60 && closing.length > 0 ? closing : likely.length > 0 ? likely : open;
    if (from.length === 0) return { text: read(), isFinished: true };
    const id = from[Math.floor(random() * from.length)] ?? 0;
    matcher.accept(id);
    bytes.push(...(table[id] ?? []));
  }
  return { text: read(), isFinished: false };
}

const listed = { propertyNames: { pattern: '^[ab]{1,2}$' }, additionalProperties: { type: 'boolean' } };
const schemas: object[] = [
  { type: 'object' },
  { type: 'object', minProperties: 4 },
  { type: 'object', properties: { a: {} }, additionalProperties: { type: 'object' } },
  { type: 'object', properties: { a: { const: 1 } }, required: ['a'], ...listed, maxProperties: 6 },
  { type: 'object', ...listed },
  { type: 'object', ...listed, minProperties: 5 },
  { type: 'object', patternProperties: { '^(a|b.*)$': { type: 'integer' } }, additionalProperties: false },
  { type: 'object', patternProperties: { '^a': { type: 'null' }, b$: {} }, maxProperties: 5 },
  {
    anyOf: [
      { type: 'object', properties: { a: {}, b: {} } },
      { type: 'object', ...listed },
    ],
  },
  { type: 'array', maxItems: 2, items: { type: 'object', additionalProperties: { type: 'integer' } } },
];

const strings = (more: object, items: object = { type: 'string' }): object => {
  return { type: 'array', items, uniqueItems: true, ...more };
};
const few = { enum: ['a', 'b', 'ab', 'aa'] };
const lists: object[] = [
  strings({}),
  strings({ minItems: 3 }),
  strings({ maxItems: 4 }, few),
  strings({ minItems: 4 }, few),
  strings({}, { type: 'string', pattern: '^(a|b.*)$' }),
  strings({ minItems: 2 }, { type: 'string', pattern: '^[ab]{1,2}$', maxLength: 2 }),
  { type: 'object', properties: { a: strings({}, few), b: strings({}, few) }, required: ['a', 'b'] },
  { type: 'array', items: strings({ maxItems: 2 }), maxItems: 3 },
  { type: 'object', additionalProperties: strings({}, { type: 'string', maxLength: 1 }), maxProperties: 3 },
];

describe('strings of a list that keeps them apart', () => {
  it.each(lists)('never come twice, and every text can be finished: %j', (schema) => {
    const automaton = automatonOf(schema);
    const validate = new Ajv2020({ strict: false }).compile(schema);
    let finished = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const { text, isFinished } = sample(matcherOf(automaton), seededRandom(seed));
      if (!isFinished) continue;
      finished++;
      expect([text, validate(JSON.parse(text))]).toEqual([text, true]);
    }
    expect(finished).toBeGreaterThan(5);
  });

  it('may be all that there are, in any order', () => {
    for (const text of ['["b","a","aa","ab"]', '["ab"]', '[]']) {
      const matcher = matcherOf(automatonOf(strings({}, few)));
      for (const byte of Buffer.from(text)) {
        expect([text, isAllowed(matcher.allowed(), byte + 1)]).toEqual([text, true]);
        matcher.accept(byte + 1);
      }
    }
    expect(() => automatonOf(strings({ minItems: 5 }, few))).toThrow('no value satisfies the schema');
  });
});

describe('names within one object', () => {
  it.each(schemas)('are never repeated, and every text can be finished: %j', (schema) => {
    const automaton = automatonOf(schema);
    const validate = new Ajv2020({ strict: false }).compile(schema);
    let finished = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const { text, isFinished } = sample(matcherOf(automaton), seededRandom(seed));
      expect([text, hasRepeatedName(text)]).toEqual([text, false]);
      if (!isFinished) continue;
      finished++;
      expect([text, validate(JSON.parse(text))]).toEqual([text, true]);
    }
    expect(finished).toBeGreaterThan(5);
  });

  it('are all that is not offered: every other token is', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom({}, { additionalProperties: { type: 'object' } }), (seed, schema) => {
        const automaton = automatonOf({ type: 'object', ...schema });
        const [matcher, random] = [matcherOf(automaton), seededRandom(seed)];
        const bytes: number[] = [];
        let state = automaton.start;
        for (let step = 0; step < 40 && !matcher.isFinished(); step++) {
          const allowed = matcher.allowed();
          const fits = (id: number): boolean => {
            let at: typeof state | null = state;
            for (const byte of table[id] ?? []) at = at && automaton.next(at, byte);
            const text = isValidUtf8([...bytes, ...(table[id] ?? [])]);
            return at !== null && (text === null || !hasRepeatedName(text));
          };
          const names = ids.filter((id) => id > 256 || id < 129);
          expect(names.filter((id) => isAllowed(allowed, id))).toEqual(names.filter(fits));
          const likely = names.filter(
            (id) => isAllowed(allowed, id) && (id > 256 || 'ab"{}:,1'.includes(String.fromCharCode(id - 1))),
          );
          const id = likely[Math.floor(random() * likely.length)];
          if (id === undefined) return;
          matcher.accept(id);
          for (const byte of table[id] ?? []) {
            bytes.push(byte);
            state = automaton.next(state, byte) ?? state;
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  it('are compared as texts, however their characters are written', () => {
    const matcher = matcherOf(automatonOf({ type: 'object' }));
    for (const byte of Buffer.from('{"\\u0061":1,"')) matcher.accept(byte + 1);
    matcher.accept(1 + 'a'.charCodeAt(0));
    expect(isAllowed(matcher.allowed(), 1 + '"'.charCodeAt(0))).toBe(false);
    expect(isAllowed(matcher.allowed(), 1 + 'a'.charCodeAt(0))).toBe(true);
  });

  it('may be those of another object, also of one at the same place', () => {
    const text = '[{"a":{"a":1}},{"a":{"a":{"a":2},"b":{"a":[{"a":1},{"a":1}]}}}]';
    const matcher = matcherOf(automatonOf({}));
    for (const byte of Buffer.from(text)) {
      expect(isAllowed(matcher.allowed(), byte + 1)).toBe(true);
      matcher.accept(byte + 1);
    }
  });

  it('are kept apart in the arguments of calls too', () => {
    const grammar = new Grammar();
    const start = new JsonGrammar(grammar).anyObject();
    for (const _ of grammar.finish(start));
    const automaton = new RegionAutomaton([
      { type: 'free', exits: [{ text: '<call>', next: 1 }], mayEnd: true },
      { type: 'bound', branches: [{ automaton: Automaton.of(grammar, start), next: null }] },
    ]);
    const matcher = matcherOf(automaton);
    for (const byte of Buffer.from('"a" {"a", <call>{"a":{},"')) matcher.accept(byte + 1);
    const allowed = matcher.allowed();
    const repeating = ['a"', 'a":1', 'é"'].map((piece) => isAllowed(allowed, 257 + pieces.indexOf(piece)));
    expect(repeating).toEqual([false, false, true]);
  });
});
