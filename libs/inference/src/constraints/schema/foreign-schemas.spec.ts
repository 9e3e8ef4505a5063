import { describe, expect, it } from 'vitest';
import { annotatedSchemas, assertedSchemas } from '#test/foreign-schemas';
import { accepts, automatonOf } from '../schema-automaton.js';

const inProperty = (schema: object): object => ({
  type: 'object',
  properties: { good: { type: 'boolean' }, a: schema },
  required: ['good'],
});

describe('a schema as others write it', () => {
  it.each(Object.entries(annotatedSchemas))('is covered, strict or not: %s', (_, schema) => {
    for (const isStrict of [true, false]) {
      const automaton = automatonOf(inProperty(schema), { isStrict });
      expect(accepts(automaton, '{"good":true}') || 'required' in schema).toBe(true);
    }
  });

  it.each(Object.entries(assertedSchemas))(
    'compiles where it is not strict, and keeps what is covered: %s',
    (_, schema) => {
      const automaton = automatonOf(inProperty(schema), { isStrict: false });
      expect([accepts(automaton, '{"good":true}'), accepts(automaton, '{"good":1}')]).toEqual([true, false]);
    },
  );

  it.each([
    { type: 'string', pattern: '(a)\\1' },
    { type: 'string', not: { pattern: '(a)\\1' } },
    { type: 'string', pattern: '(a)\\1', not: { const: 'b' } },
  ])('keeps strings JSON where their pattern is left out: %j', (schema) => {
    const automaton = automatonOf(schema, { isStrict: false });
    const texts = ['"ab"', '""', '"a"b"', '"\n"', '"\\"', '"a'];
    expect(texts.map((text) => accepts(automaton, text))).toEqual([true, true, false, false, false, false]);
  });

  it('keeps all other keywords of a schema of which one is left out', () => {
    const schema = {
      type: 'array',
      items: { type: 'string', pattern: '(a)\\1', maxLength: 2 },
      maxItems: 2,
      unevaluatedItems: false,
    };
    const automaton = automatonOf(schema, { isStrict: false });
    const texts = ['["zz"]', '["zzz"]', '["a","b"]', '["a","b","c"]', '[1]'];
    expect(texts.map((text) => accepts(automaton, text))).toEqual([true, false, true, false, false]);
  });

  it.each([
    [{ type: 'string', pattern: '(a)\\1' }, '/pattern'],
    [{ type: 'string', format: 'date', not: { pattern: '(a)\\1' } }, '/not/pattern'],
    [{ oneOf: [{ properties: { a: {} } }, { properties: { b: {} } }] }, '/oneOf'],
    [{ type: 'number', multipleOf: 1e-30, minimum: 0.5, maximum: 1e30 }, '/multipleOf'],
    [{ propertyNames: { anyOf: [{ minLength: 2 }, { pattern: '^a' }] } }, '/propertyNames'],
    [{ enum: [[1], [2, 3]], maxItems: 1 }, '/enum'],
    [{ const: { a: 1 }, minProperties: 1 }, '/const'],
    [{ not: { enum: [[1], 2] } }, '/not'],
    [
      { patternProperties: Object.fromEntries(['^a', '^b', '^c', '^d', '^e', '^f'].map((name) => [name, {}])) },
      '/patternProperties/^f',
    ],
    [
      { if: { anyOf: ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ required: [name] })) }, then: { type: 'object' } },
      null,
    ],
    [{ if: { required: ['a', 'b', 'c', 'd', 'e', 'f'] }, then: { maxProperties: 9 } }, '/if'],
    [{ not: { required: ['a', 'b', 'c', 'd', 'e', 'f'] } }, '/not'],
  ])('names the keyword that is left out where it is not strict: %j', (schema, keyword) => {
    const notes: string[] = [];
    automatonOf(inProperty(schema), { isStrict: false, onRelaxed: ({ pointer }) => notes.push(pointer) });
    expect([...new Set(notes)]).toEqual(keyword === null ? [] : [`/properties/a${keyword}`]);
  });

  it.each([
    [{ items: [{ type: 'string' }], additionalItems: { type: 'null' } }, ['["a",null]', '["a"]'], ['[1]', '["a","b"]']],
    [{ type: 'integer', minimum: 1, exclusiveMinimum: true }, ['2'], ['1']],
    [{ type: 'integer', maximum: 1, exclusiveMaximum: false }, ['1'], ['2']],
    [{ type: 'object', properties: { a: { type: 'null', required: true } } }, ['{"a":null}'], ['{}']],
    [{ type: 'integer', divisibleBy: 5 }, ['10'], ['11']],
    [{ properties: { a: { $ref: '#b' } }, definitions: { b: { id: '#b', const: 1 } } }, ['{"a":1}'], ['{"a":2}']],
    [
      { $id: 'https://a.example/root', items: { $ref: 'item' }, $defs: { item: { $id: '/item', type: 'null' } } },
      ['[null]'],
      ['[1]'],
    ],
    [
      {
        $ref: '#/$defs/a',
        $defs: { a: { $id: 'http://a.example/a', $ref: '#/$defs/b', $defs: { b: { const: 1 } } }, b: { const: 2 } },
      },
      ['1'],
      ['2'],
    ],
  ])('is read in the form of its draft: %j', (schema, valid, invalid) => {
    const automaton = automatonOf(schema);
    for (const text of valid) expect([text, accepts(automaton, text)]).toEqual([text, true]);
    for (const text of invalid) expect([text, accepts(automaton, text)]).toEqual([text, false]);
  });

  it('names the place as it is written', () => {
    const tuple = { items: [{}, { properties: { a: { contains: {}, unevaluatedItems: false } } }] };
    expect(() => automatonOf(tuple)).toThrow(/^\/items\/1\/properties\/a\//);
  });
});
