import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '#test/seeded-random';
import { isAllowed } from '../sampling/token-constraint.js';
import { accepts, automatonOf } from './schema-automaton.js';
import { MaskCache, TokenMatcher } from './token-matcher.js';
import { buildTokenTrie } from './token-trie.js';

/** Every byte, and tokens that begin, end or hold items. */
const pieces = [
  '{"a":',
  '":true',
  'true}',
  ',{"a":',
  '},{"a":',
  '1,1',
  ',1',
  ', 1',
  '[1',
  ']]',
  '],[',
  '],[1]',
  '"a","a"',
  'true',
  'null,null',
];
const table = [
  new Uint8Array(0),
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...pieces.map((piece) => new TextEncoder().encode(piece)),
];
const trie = buildTokenTrie(table, new Set([0]));
const ids = [...table.keys()].slice(1);

/** A finished text, of few different characters; null where it is cut. */
function sample(matcher: TokenMatcher, random: () => number): string | null {
  const bytes: number[] = [];
  for (let step = 0; step < 120; step++) {
    if (matcher.isFinished()) return new TextDecoder().decode(Uint8Array.from(bytes));
    const allowed = matcher.allowed();
    const open = ids.filter((id) => isAllowed(allowed, id));
    const likely = open.filter((id) => id > 256 || 'ab"{}[]:,1truefalsn'.includes(String.fromCharCode(id - 1)));
    const closing = likely.filter((id) => /^["\]}]+$/.test(String.fromCharCode(...(table[id] ?? []))));
    const from = step > 60 && closing.length > 0 ? closing : likely.length > 0 ? likely : open;
    if (from.length === 0) return new TextDecoder().decode(Uint8Array.from(bytes));
    const id = from[Math.floor(random() * from.length)] ?? 0;
    matcher.accept(id);
    bytes.push(...(table[id] ?? []));
  }
  return null;
}

const unique = (schema: object): object => ({ type: 'array', uniqueItems: true, ...schema });
const flags = { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'], additionalProperties: false };

describe('a list in which no item comes twice', () => {
  it.each([
    [unique({ items: { enum: [1, 11, null, true] } }), 4],
    [unique({ items: { type: 'integer', minimum: 0, maximum: 2 }, minItems: 3 }), 3],
    [unique({ items: flags }), 2],
    [unique({ items: unique({ items: { type: ['integer', 'boolean'] }, maxItems: 2 }), maxItems: 4 }), 4],
    [unique({ items: { anyOf: [{ enum: ['a', 'aa'] }, flags] }, maxItems: 3 }), 3],
    [
      unique({ items: { $ref: '#/$defs/a' }, $defs: { a: { type: ['string', 'null'], maxLength: 1 } }, maxItems: 4 }),
      4,
    ],
    [unique({ prefixItems: [{ const: 1 }, { type: 'boolean' }], items: { enum: [1, true, false] } }), 3],
    [unique({ items: { type: 'object', additionalProperties: { const: 1 } }, maxItems: 3 }), 3],
    [unique({ maxItems: 3 }), 3],
    [{ type: 'object', properties: { a: unique({ items: flags }), b: unique({ items: flags }) } }, 2],
  ])('is finished and valid: %j', (schema, most) => {
    const validate = new Ajv2020({ strict: false }).compile(schema);
    const automaton = automatonOf(schema);
    const random = seededRandom(5);
    const cache = new MaskCache(trie);
    let longest = 0;
    for (let round = 0; round < 60; round++) {
      const text = sample(new TokenMatcher(automaton, cache, [0]), random);
      if (text === null) continue;
      const value = JSON.parse(text) as unknown;
      expect([text, validate(value)]).toEqual([text, true]);
      if (Array.isArray(value)) longest = Math.max(longest, value.length);
    }
    if ('uniqueItems' in schema) expect(longest).toBe(most);
  });

  it.each([
    ['[1]', true],
    ['[1,2]', true],
    ['[1,1.0]', false],
    ['[1,1e0]', false],
    ['["a","\\u0061"]', false],
    ['["a",["a"],["a"]]', false],
    ['[{"a":1,"b":[2]},{"b": [2],"a": 1}]', false],
    ['[{"a":1},{"a":2}]', true],
    ['[[1],[[1]]]', true],
    ['[false,0,null,"",[],{}]', true],
    ['[{},{}]', false],
  ])('compares values: %s', (text, isValid) => {
    expect(accepts(automatonOf({ type: 'array', uniqueItems: true }), text)).toBe(isValid);
  });
});
