import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { ConstraintRefusal } from '../refusal.js';
import type { State } from '../automaton.js';
import { accepts, acceptsInSomeOrder, automatonOf } from '../schema-automaton.js';

const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true });
addFormats.default(ajv);

/** Values of every type and around every border that the schemas below have. */
const instances: unknown[] = [
  null,
  true,
  false,
  ...[
    0, 1, -1, 2, 3, 4, 5, 7, 10, 11, 12, 20, 30, 99, 100, 101, 1000, -5, -7, -10, 1.1, 1.5, 0.5, -0.5, 2.25, 0.01,
    99.99,
  ],
  ...[1.01, 0.1, 4.999, 5.001, 123456789, -123.456],
  ...[
    '',
    'a',
    'aa',
    'aaa',
    'aaaa',
    'b',
    'ab',
    'abc',
    'foo',
    'bar',
    'A',
    'é',
    '😀',
    '😀😀',
    'a"b',
    'a\\b',
    'a\nb',
    '\u0001',
    '/',
  ],
  ...[
    '2024-02-29',
    '2023-02-29',
    '2024-13-01',
    '2024-04-31',
    '2024-06-30T12:00:00Z',
    '2024-06-30T25:00:00Z',
    '12:30:00Z',
  ],
  ...[
    '2024-06-30T12:00:00.123+02:00',
    'a@b.co',
    'a@',
    '@b',
    'not an address',
    '127.0.0.1',
    '256.0.0.1',
    '::1',
    '1::2::3',
    '::ffff:1.2.3.4',
  ],
  ...[
    '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7::',
    '12345::',
    'example.com',
    '-bad.example',
    'https://example.com/a?b=c#d',
    'no scheme',
  ],
  ...['123e4567-e89b-12d3-a456-426614174000', '123e4567', 'AB-12', 'AB-123', '2024'],
  [],
  [1],
  ['a'],
  [1, 2],
  [1, 'a'],
  ['a', 1],
  [1, 'a', true],
  [1, 2, 3],
  [1, 2, 3, 4],
  [[]],
  [[1], [2, 3]],
  [null],
  {},
  { a: 1 },
  { a: 'x' },
  { b: 2 },
  { a: 1, b: 2 },
  { a: 'x', b: 2 },
  { a: 1, b: 2, c: 3 },
  { a: 1, b: 'y', c: null },
  { foo: 1, bar: 2 },
  { foo: 1 },
  { x1: 1 },
  { x1: 'a', y: 'b' },
  { kind: 'cat', lives: 9 },
  { kind: 'dog', lives: 9 },
  { kind: 'dog', barks: true },
  { value: 1, next: { value: 2, next: null } },
  { value: 1, next: null },
  { value: 1, next: 3 },
  { 'a"b': 1 },
];

const list = {
  $defs: {
    node: {
      type: 'object',
      properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
      required: ['value', 'next'],
      additionalProperties: false,
    },
  },
};

const schemas: Record<string, unknown[]> = {
  boolean: [true, {}],
  type: [
    'null',
    'boolean',
    'integer',
    'number',
    'string',
    'array',
    'object',
    ['string', 'null'],
    ['integer', 'object'],
  ].map((type) => ({ type })),
  'enum and const': [
    { enum: ['a', 1, null, [1, 2], { a: 1, b: 2 }] },
    { type: 'string', enum: ['a', 1, 'ab', '😀'] },
    { const: 'foo' },
    { const: { a: 1 } },
    { enum: ['a', 'aa', 'aaa'], minLength: 2 },
    { enum: [1, 5, 20], maximum: 5 },
  ],
  'not and dependencies': [
    { not: { type: ['object', 'array', 'number'] } },
    { not: { const: 'foo' }, type: ['string', 'null'] },
    { not: { enum: ['', 'a', null, true] }, not_a_keyword: 1, type: ['string', 'null', 'boolean'] },
    { enum: [1, 2, [1], { a: 1 }], not: { enum: [2, [1]] } },
    { type: 'string', not: { const: 'a' }, maxLength: 2 },
    { type: 'object', dependentRequired: { a: ['b'] }, properties: { a: {}, b: {}, c: {} } },
    { dependentSchemas: { a: { properties: { b: { type: 'integer' } } } } },
    { type: 'object', dependencies: { a: ['b'], b: { properties: { c: false } } } },
  ],
  properties: [
    { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } },
    { properties: { a: { type: 'string' } }, additionalProperties: false },
    { type: 'object', properties: { a: {}, b: {}, c: {} }, required: ['b'] },
    { type: 'object', required: ['a'], additionalProperties: { type: 'integer' } },
    { properties: { a: false } },
    { properties: { a: true, b: false } },
    { type: 'object', properties: { 'a"b': { type: 'integer' } }, additionalProperties: false },
    { type: 'object', properties: { foo: { type: 'integer' } }, additionalProperties: { type: 'string' } },
  ],
  patternProperties: [
    { patternProperties: { '^x\\d': { type: 'integer' } } },
    { patternProperties: { '^[a-c]$': { type: 'integer' } }, additionalProperties: false },
    { patternProperties: { a: { type: 'integer' }, 'a|b': { minimum: 2 } }, additionalProperties: { type: 'string' } },
    { properties: { a: { type: 'integer' } }, patternProperties: { '^a': { minimum: 5 } } },
  ],
  propertyNames: [
    { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'integer' } },
    { propertyNames: true },
    { propertyNames: false },
    { propertyNames: { type: 'number' } },
    { propertyNames: { enum: ['a', 'b', 3] }, additionalProperties: { type: 'integer' } },
    { propertyNames: { const: 'a' }, required: ['a'] },
    { propertyNames: { pattern: '^[ab]' }, patternProperties: { b: { type: 'integer' } } },
    { propertyNames: { maxLength: 1 }, properties: { foo: { type: 'integer' }, a: {} } },
    { propertyNames: { minLength: 2, pattern: 'o' } },
    { $defs: { name: { type: 'string', enum: ['a'] } }, propertyNames: { $ref: '#/$defs/name' } },
  ],
  'properties that must be absent': [
    { properties: { a: { not: {} } } },
    { properties: { a: { not: true, description: 'never' }, b: {} }, additionalProperties: false },
  ],
  'number of properties': [
    { type: 'object', minProperties: 1 },
    { type: 'object', maxProperties: 2 },
    {
      type: 'object',
      properties: { a: {}, b: {}, c: {} },
      additionalProperties: false,
      minProperties: 2,
      maxProperties: 2,
    },
    { type: 'object', properties: { a: {}, b: {} }, required: ['a'], minProperties: 2 },
  ],
  items: [
    { type: 'array', items: { type: 'integer' } },
    { items: { type: 'string' } },
    { prefixItems: [{ type: 'integer' }, { type: 'string' }] },
    { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }], items: false },
    { type: 'array', prefixItems: [{ type: 'integer' }], items: { type: 'integer' }, minItems: 2, maxItems: 3 },
    { type: 'array', minItems: 2 },
    { type: 'array', maxItems: 1 },
    { type: 'array', items: false },
    { type: 'array', items: { type: 'array', items: { type: 'integer' } } },
    { type: 'array', prefixItems: [{}, {}], minItems: 3 },
  ],
  strings: [
    { type: 'string', minLength: 2 },
    { type: 'string', maxLength: 2 },
    { type: 'string', minLength: 1, maxLength: 1 },
    { minLength: 3 },
    { type: 'string', pattern: '^[a-z]+$' },
    { type: 'string', pattern: 'b' },
    { type: 'string', pattern: '^(a|b){2,3}$' },
    { type: 'string', pattern: '^[A-Z]{2}-\\d{2,}$', maxLength: 5 },
    { type: 'string', pattern: '^[^a]' },
    { type: 'string', pattern: '^.$' },
    { type: 'string', pattern: '^a["\\\\\\n]b$' },
    { type: 'string', pattern: 'a', minLength: 3 },
    { type: 'string', pattern: '^a|b$' },
    { type: 'string', pattern: '^' },
    { type: 'string', pattern: '^(?!a)' },
    { type: 'string', pattern: '^(?=.*b)[a-z]+$' },
  ],
  formats: ['date-time', 'date', 'time', 'email', 'hostname', 'uri', 'uuid', 'ipv4', 'ipv6'].map((format) => ({
    type: 'string',
    format,
  })),
  numbers: [
    { type: 'integer', minimum: -5, maximum: 100 },
    { type: 'integer', exclusiveMinimum: -5, exclusiveMaximum: 100 },
    { type: 'integer', minimum: 7 },
    { type: 'integer', maximum: -1 },
    { type: 'number', minimum: 0.5 },
    { type: 'number', exclusiveMinimum: 0.5, maximum: 99.99 },
    { type: 'number', minimum: -123.456, exclusiveMaximum: 0 },
    { type: 'number', minimum: 1.01, maximum: 4.999 },
    { type: 'number', exclusiveMinimum: 5, maximum: 5.001 },
    { type: 'integer', minimum: 1.5, maximum: 11.5 },
    { minimum: 10, type: ['integer', 'string'] },
    { type: 'integer', multipleOf: 5 },
    { type: 'integer', multipleOf: 4, minimum: 0 },
    { type: 'integer', multipleOf: 7, minimum: -10, maximum: 100 },
    { type: 'integer', multipleOf: 100 },
    { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
  ],
  combinations: [
    { anyOf: [{ type: 'string' }, { type: 'integer', minimum: 10 }] },
    {
      anyOf: [
        { type: 'string', maxLength: 1 },
        { type: 'string', minLength: 3 },
      ],
    },
    { type: 'object', properties: { a: { type: 'integer' } }, anyOf: [{ required: ['a'] }, { required: ['foo'] }] },
    { oneOf: [{ type: 'string' }, { type: 'null' }] },
    {
      oneOf: [
        { type: 'integer', maximum: 5 },
        { type: 'integer', exclusiveMinimum: 5 },
      ],
    },
    {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'cat' }, lives: { type: 'integer' } }, required: ['kind'] },
        {
          type: 'object',
          properties: { kind: { const: 'dog' }, barks: { type: 'boolean' } },
          required: ['kind'],
          additionalProperties: false,
        },
      ],
    },
    { allOf: [{ type: 'integer' }, { minimum: 2 }, { maximum: 11 }] },
    {
      allOf: [
        { properties: { a: { type: 'integer' } }, required: ['a'] },
        { properties: { b: { minimum: 2 } }, required: ['b'] },
      ],
    },
    { allOf: [{ properties: { a: {} }, additionalProperties: false }, { properties: { b: {} } }] },
    { allOf: [{ anyOf: [{ type: 'string' }, { type: 'array' }] }, { anyOf: [{ minLength: 3 }, { maxItems: 1 }] }] },
    { allOf: [{ enum: ['a', 'b', 1] }, { enum: ['b', 1, 'c'] }, { type: 'string' }] },
    { allOf: [{ pattern: '^a' }, { pattern: 'c$' }, { type: 'string' }] },
    { allOf: [{ items: { type: 'integer' } }, { prefixItems: [{ minimum: 2 }] }] },
  ],
  conditions: [
    { if: { properties: { kind: { const: 'cat' } } }, then: { required: ['lives'] } },
    {
      properties: { kind: { enum: ['cat', 'dog'] } },
      if: { properties: { kind: { const: 'cat' } }, required: ['kind'] },
      then: { properties: { lives: { maximum: 8 } } },
      else: { required: ['a'], properties: { a: { type: 'string' } } },
    },
    { if: { type: 'string' }, then: { minLength: 3 }, else: { type: 'object' } },
    { if: { enum: ['a', null] }, else: { type: 'array', maxItems: 1 } },
    { if: { required: ['a', 'b'] }, then: { required: ['c'] } },
    { if: { properties: { next: { type: 'object', required: ['next'] } } }, then: false, else: { type: 'object' } },
    { if: true, then: { type: 'string' }, else: { type: 'null' } },
    { if: false, then: { type: 'string' }, else: { type: 'null' } },
    { if: { title: 'any' }, then: { type: 'boolean' } },
    { type: 'object', then: { required: ['a'] }, else: false },
    {
      type: 'object',
      allOf: [
        { if: { properties: { kind: { const: 'cat' } }, required: ['kind'] }, then: { required: ['lives'] } },
        { if: { properties: { kind: { const: 'dog' } }, required: ['kind'] }, then: { required: ['barks'] } },
      ],
    },
  ],
  negations: [
    { not: { required: ['a'] } },
    { not: { required: ['a', 'b'] } },
    { not: { properties: { a: { type: 'string' } }, required: ['a'] } },
    { not: { anyOf: [{ type: 'object', required: ['a'] }, { type: 'string' }, { type: 'number', minimum: 2 }] } },
    { not: { allOf: [{ type: 'object' }, { minProperties: 1 }] } },
    { not: { oneOf: [{ type: 'integer' }, { minimum: 2 }] } },
    { not: { not: { type: 'array' } } },
    { not: { $ref: '#/$defs/a' }, $defs: { a: { type: ['string', 'number'], minLength: 2, maximum: 3 } } },
    { not: { pattern: '^a' } },
    { not: { type: 'integer' } },
    { not: { enum: [0, 1, 1.5, 'a', null] } },
    { not: { items: { type: 'string' } } },
    { not: { prefixItems: [{ type: 'string' }] } },
    { not: { contains: { type: 'string' } } },
    { not: { properties: { a: {} }, additionalProperties: false } },
    { not: { properties: { a: {} }, additionalProperties: { type: 'number' } } },
    { not: { dependentRequired: { a: ['b'] } } },
    { if: { minLength: 2 }, then: { pattern: 'a' }, else: { type: 'number' } },
    { if: { not: { properties: { a: { const: 1 } } } }, then: { required: ['b'] } },
    { enum: ['a', 'ab', 'b', 1, 2, 3, null], pattern: '^a', multipleOf: 2 },
  ],
  'overlapping oneOf': [
    { oneOf: [{ type: 'integer' }, { type: 'number' }] },
    { oneOf: [{ type: 'string' }, { minLength: 2 }] },
    { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    {
      oneOf: [
        { type: 'array', items: { type: 'string' } },
        { type: 'array', items: { type: 'number' } },
      ],
    },
    { oneOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: { type: 'number' } } }] },
    {
      oneOf: [
        { properties: { a: {} }, additionalProperties: false },
        { properties: { a: {}, b: {} }, additionalProperties: false },
      ],
    },
    { oneOf: [{ enum: ['a', 1] }, { type: 'string' }, { minimum: 1, type: 'number' }] },
    { oneOf: [{ pattern: '^a' }, { pattern: 'b$' }], type: 'string' },
  ],
  'items that are counted': [
    { contains: { type: 'string' } },
    { contains: { type: 'number' }, minContains: 2 },
    { contains: { type: 'number' }, minContains: 0, maxContains: 1 },
    { contains: { const: 1 }, maxContains: 1, type: 'array', maxItems: 2 },
    { contains: { type: 'string' }, allOf: [{ contains: { type: 'number' } }], minItems: 2 },
    { contains: { type: 'number' }, type: 'array', uniqueItems: true },
  ],
  references: [
    { ...list, $ref: '#/$defs/node' },
    { type: 'array', items: { $ref: '#' } },
    { $defs: { small: { maximum: 5 } }, type: 'integer', $ref: '#/$defs/small' },
    { $defs: { s: { $anchor: 'short', type: 'string', maxLength: 2 } }, $ref: '#short' },
    { properties: { a: { type: 'string' } }, additionalProperties: { $ref: '#/properties/a' } },
  ],
};

/** Multiples and bounds of a schema of numbers, in hundredths. */
function scaledFacts(schema: Record<string, unknown>): { multiples: number[]; lower: number; upper: number } {
  const all = [schema, ...((schema.allOf as Record<string, unknown>[] | undefined) ?? [])];
  const scaled = (value: unknown): number => Math.round(Number(value) * 100);
  return {
    multiples: all.flatMap(({ multipleOf }) => (multipleOf === undefined ? [] : [scaled(multipleOf)])),
    lower: Math.max(scaled(schema.minimum ?? -Infinity), scaled(schema.exclusiveMinimum ?? -Infinity) + 1),
    upper: Math.min(scaled(schema.maximum ?? Infinity), scaled(schema.exclusiveMaximum ?? Infinity) - 1),
  };
}

describe('compileSchema', () => {
  for (const [keyword, variants] of Object.entries(schemas)) {
    it.each(variants.map((schema) => [JSON.stringify(schema), schema]))(
      `${keyword}: %s accepts what ajv accepts`,
      (_, schema) => {
        const validate = ajv.compile(schema as object);
        const automaton = automatonOf(schema);
        for (const instance of instances) {
          expect([instance, acceptsInSomeOrder(automaton, instance)]).toEqual([instance, validate(instance)]);
        }
      },
    );
  }

  it.each([
    [{ $ref: '#' }, '$ref leads back to itself'],
    [{ anyOf: [{ $ref: '#' }, { type: 'string' }] }, '$ref leads back to itself'],
    [{ $ref: '#/$defs/x', $defs: { x: { allOf: [{ $ref: '#/$defs/x' }] } } }, '/$defs/x: $ref leads back to itself'],
    [{ properties: { a: { not: { uniqueItems: true } } } }, '/properties/a/not: what it does not accept cannot'],
    [{ not: { const: [1] } }, '/not: excludes values of type array that are not listed'],
    [{ contains: { multipleOf: 2 }, maxContains: 1 }, '/maxContains: what it does not accept cannot'],
    [{ not: {} }, '#: no value satisfies the schema'],
    [{ items: { if: { multipleOf: 2 }, then: {} } }, '/items/if: what it does not accept cannot'],
    [{ type: 'string', pattern: '(?i:a)b' }, '/pattern: the pattern "(?i:a)b" uses modifiers'],
    [{ type: 'string', pattern: '((?!b)a)+' }, '/pattern: a pattern that repeats an assertion'],
    [{ propertyNames: { anyOf: [{ const: 'a' }, { pattern: '^b' }] } }, '/propertyNames: alternatives of names'],
    [{ propertyNames: { not: { multipleOf: 2 } } }, '/propertyNames/not: what it does not accept cannot'],
    [
      { type: 'string', pattern: '(a)\\1' },
      '/pattern: the pattern "(a)\\\\1" uses a back reference, which is not supported',
    ],
    [{ type: 'string', pattern: '(a' }, '/pattern: the pattern "(a" has an unmatched ('],
    [{ oneOf: [{ type: 'number' }, { multipleOf: 2 }] }, '/oneOf: a value may match two branches of oneOf'],
    [{ multipleOf: 1e-30 }, '/multipleOf: multiples of 1e-30 are not supported'],
    [{ $ref: 'https://example.com/schema' }, '/$ref: only references within the schema are followed'],
    [{ $ref: '#/$defs/missing' }, '/$ref: #/$defs/missing names nothing in the schema'],
    [{ type: 'thing' }, '/type: must name types of JSON'],
    [{ minLength: -1 }, '/minLength: must be a whole number of at least 0'],
    [{ properties: { a: 3 } }, '/properties/a: must be a schema'],
    [{ enum: [] }, '#: no value satisfies the schema'],
    [{ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }, '#: no value satisfies the schema'],
    [false, '#: no value satisfies the schema'],
    ['text', '#: must be a schema'],
    [
      { type: 'object', minProperties: 3, propertyNames: { pattern: '^[ab]$' } },
      '/minProperties: more properties than the required ones',
    ],
  ])('refuses %j by pointer and reason', (schema, message) => {
    expect(() => automatonOf(schema)).toThrow(ConstraintRefusal);
    expect(() => automatonOf(schema)).toThrow(message);
  });

  it.each([
    [{ type: 'string', format: 'starts_with', pattern: '^a.*' }, ['abc', 'a'], ['bc', '']],
    [{ type: 'string', format: 'nanoid', pattern: '^[a-zA-Z0-9_-]{21}$' }, ['a'.repeat(21)], ['a'.repeat(20)]],
    [
      { type: 'string', format: 'hostname', pattern: '^(?=.{1,253}\\.?$)[a-z0-9-]{1,63}(?:\\.[a-z0-9-]{1,63})*\\.?$' },
      ['example.com', 'a.b.c'],
      ['', 'a..b', 'a.'.repeat(200)],
    ],
    [
      { type: 'string', format: 'email', pattern: '^(?!\\.)(?!.*\\.\\.)[a-z.]*[a-z]@([a-z]+\\.)+[a-z]{2,}$' },
      ['a.b@example.com'],
      ['.a@example.com', 'a..b@example.com'],
    ],
  ])('keeps to %j, as libraries of schemas write it', (schema, valid, invalid) => {
    const automaton = automatonOf(schema);
    for (const text of valid) expect([text, accepts(automaton, JSON.stringify(text))]).toEqual([text, true]);
    for (const text of invalid) expect([text, accepts(automaton, JSON.stringify(text))]).toEqual([text, false]);
  });

  it('writes declared members in the order that is given beside them', () => {
    const properties = { 1: {}, 2: {}, a: {}, b: {} };
    const automaton = automatonOf({ type: 'object', properties, 'x-property-order': ['b', '2', 'c', 2, null, 'a'] });
    expect(accepts(automaton, '{"b":0,"2":0,"a":0,"1":0}')).toBe(true);
    expect(accepts(automaton, '{"2":0,"b":0}')).toBe(false);
  });

  it('writes declared members in the order of the schema, and others behind them', () => {
    const automaton = automatonOf({ type: 'object', properties: { b: {}, a: {} } });
    expect(accepts(automaton, '{"b":1,"a":2,"c":3}')).toBe(true);
    expect(accepts(automaton, '{"a":2,"b":1}')).toBe(false);
    expect(accepts(automaton, '{"c":3,"b":1}')).toBe(false);
  });

  it('allows one blank behind colons and commas, and no other white space within a document', () => {
    const automaton = automatonOf({ type: 'object', properties: { a: { type: 'array', items: { type: 'integer' } } } });
    for (const text of ['{"a":[1,2]}', ' {"a": [1, 2], "b": {"c": []}}']) expect(accepts(automaton, text)).toBe(true);
    const other = [
      '{ "a":[]}',
      '{"a":[] }',
      '{"a" :[]}',
      '{"a":\n[]}',
      '{"a":  []}',
      '{"a":[ ]}',
      '{\n}',
      '{"b":[1 ,2]}',
    ];
    for (const text of [...other, '{}\n']) expect([text, accepts(automaton, text)]).toEqual([text, false]);
  });

  it('leaves nothing to write inside of an empty object or list', () => {
    for (const [schema, text] of [
      [{ type: 'object', additionalProperties: false }, '{'],
      [{ type: 'array', maxItems: 0 }, '['],
      [{ const: {} }, '{'],
    ] as const) {
      const automaton = automatonOf(schema);
      const inside = automaton.next(automaton.start, text.charCodeAt(0)) as State;
      const bytes = Array.from({ length: 256 }, (_, byte) => byte);
      expect(bytes.filter((byte) => automaton.next(inside, byte) !== null)).toEqual([text.charCodeAt(0) + 2]);
    }
  });

  it('allows one blank or one new line before a document, without indentation', () => {
    const automaton = automatonOf({ type: 'object' });
    for (const text of ['{}', ' {}', '\n{}']) expect(accepts(automaton, text)).toBe(true);
    for (const text of ['  {}', '\n {}', '\n\n{}']) expect(accepts(automaton, text)).toBe(false);
  });

  it.each([
    { type: 'integer', multipleOf: 7 },
    { type: 'integer', multipleOf: 86_400, minimum: -1_000_000 },
    { type: 'integer', allOf: [{ multipleOf: 6 }, { multipleOf: 4 }], exclusiveMinimum: -12, maximum: 31 },
    { type: 'integer', multipleOf: 1.5 },
    { type: 'number', multipleOf: 0.25 },
    { type: 'number', multipleOf: 0.25, exclusiveMinimum: -0.75, maximum: 2.1 },
    { type: 'number', multipleOf: 1.5, minimum: -3.2, exclusiveMaximum: 4.5 },
    { type: 'number', multipleOf: 0.05, minimum: 0.07 },
    { multipleOf: 3 },
  ])('keeps to %j', (schema) => {
    const automaton = automatonOf(schema);
    const { multiples, lower, upper } = scaledFacts(schema);
    for (let hundredths = -400; hundredths <= 400; hundredths++) {
      const isWhole = hundredths % 100 === 0;
      const isValid =
        multiples.every((multiple) => hundredths % multiple === 0) &&
        hundredths >= lower &&
        hundredths <= upper &&
        (isWhole || schema.type !== 'integer');
      const text = String(hundredths / 100);
      if (text !== '0' || hundredths === 0) expect([text, accepts(automaton, text)]).toEqual([text, isValid]);
    }
    for (const text of ['-0', '00', '07', '1.', '.5', '0.', '1e2']) expect(accepts(automaton, text)).toBe(false);
  });

  it('writes multiples of large and of small numbers', () => {
    const days = automatonOf({ type: 'integer', multipleOf: 86_400 });
    for (const text of ['0', '86400', '-172800', '864000000']) expect(accepts(days, text)).toBe(true);
    for (const text of ['86401', '1', '8640000000000001']) expect(accepts(days, text)).toBe(false);
    const small = automatonOf({ type: 'number', multipleOf: 0.123456789 });
    for (const text of ['0', '0.123456789', '-0.24691357800', '123456789']) {
      expect([text, accepts(small, text)]).toEqual([text, !text.endsWith('00')]);
    }
  });

  it('writes the exact digits of large integers', () => {
    const large = 2 ** 60;
    for (const schema of [
      { const: large },
      { enum: [{ a: large }] },
      { type: 'integer', minimum: large, maximum: large },
    ]) {
      const text = (digits: string): string => ('enum' in schema ? `{"a":${digits}}` : digits);
      expect(accepts(automatonOf(schema), text('1152921504606846976'))).toBe(true);
      expect(accepts(automatonOf(schema), text('1152921504606847000'))).toBe(false);
    }
    expect(accepts(automatonOf({ type: 'number', maximum: large }), '1152921504606846977')).toBe(false);
    expect(accepts(automatonOf({ const: -0 }), '0')).toBe(true);
  });

  it('writes members called __proto__ as others', () => {
    const schema = '{"type":"object","properties":{"b":{},"__proto__":{"const":1}},"required":["__proto__"]}';
    const automaton = automatonOf(JSON.parse(schema));
    expect(accepts(automaton, '{"b":2,"__proto__":1}')).toBe(true);
    expect(accepts(automaton, '{"b":2}')).toBe(false);
    expect(accepts(automatonOf(JSON.parse('{"const":{"__proto__":[]}}')), '{"__proto__":[]}')).toBe(true);
  });

  it('writes numbers that every parser reads, with an exponent only where nothing bounds them', () => {
    for (const text of ['1.5e-7', '1E+21', '-0.25e289', '123456789012345']) {
      expect(accepts(automatonOf({ type: 'number' }), text)).toBe(true);
    }
    for (const text of ['1e290', '1e999', '01', '+1', '.5', '1.', '1234567890123456']) {
      expect(accepts(automatonOf({ type: 'number' }), text)).toBe(false);
    }
    expect(accepts(automatonOf({ type: 'number', minimum: 1 }), '1e2')).toBe(false);
    expect(accepts(automatonOf({ type: 'number', multipleOf: 0.01 }), '1.25')).toBe(true);
    expect(accepts(automatonOf({ type: 'number', multipleOf: 0.01 }), '1.255')).toBe(false);
  });

  it('takes escapes in strings, but no lone surrogates and no raw control characters', () => {
    const automaton = automatonOf({ type: 'string', maxLength: 1 });
    for (const text of ['"\\u00e9"', '"é"', '"\\/"', '"\\ud83d\\ude00"', '"😀"'])
      expect(accepts(automaton, text)).toBe(true);
    for (const text of ['"\\ud83d"', '"\n"', '"\\x"', '"ab"', '"\\u00e9a"'])
      expect(accepts(automaton, text)).toBe(false);
  });
});
