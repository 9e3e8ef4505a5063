/*
 * Constructs that generators of schemas, tool servers and older drafts emit. Each is the schema of one property. A
 * client that sends one of them without `strict: true` gets an answer.
 */

/** Keywords and formats without a meaning in the standard, and forms of older drafts: no text can break them. */
export const annotatedSchemas: Record<string, object> = {
  ...Object.fromEntries(
    ['int32', 'uint', 'uint16', 'uint32', 'decimal'].map((format) => [`format ${format}`, { type: 'integer', format }]),
  ),
  ...Object.fromEntries(
    [
      'base64',
      'bigipv4',
      'binary',
      'byte',
      'color',
      'duration',
      'idn-email',
      'json',
      'json-pointer',
      'password',
      'path',
      'regex',
      'uri-reference',
      'uuid4',
    ].map((format) => [`format ${format}`, { type: 'string', format }]),
  ),
  markdownDescription: { type: 'string', markdownDescription: '**x**' },
  enumDescriptions: { enum: ['a'], enumDescriptions: ['x'] },
  enumNames: { enum: ['a'], enumNames: ['x'] },
  id: { id: 'http://example.com/a', type: 'string' },
  'nested $id': { $id: 'https://example.com/a', type: 'string' },
  propertyOrdering: { type: 'object', properties: { a: { type: 'null' } }, propertyOrdering: ['a'] },
  strict: { type: 'string', strict: true },
  optional: { type: 'string', optional: true },
  'ui:widget': { type: 'string', 'ui:widget': 'textarea' },
  readonly: { type: 'string', readonly: true },
  'additionalItems without items': { type: 'array', additionalItems: false },
  'items as a list': { type: 'array', items: [{ type: 'string' }, { type: 'null' }], additionalItems: false },
  'exclusiveMinimum as a flag': { type: 'integer', minimum: 1, exclusiveMinimum: true },
  'exclusiveMaximum as a flag': { type: 'integer', maximum: 9, exclusiveMaximum: false },
  'type any': { type: 'any' },
  'required of draft 3': { type: 'string', required: true },
  'x-…': { type: 'string', 'x-order': 1 },
};

/** Keywords that say which values are valid. */
export const assertedSchemas: Record<string, object> = {
  uniqueItems: { type: 'array', items: { type: 'integer' }, uniqueItems: true },
  'if and then': JSON.parse('{"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}') as object,
  'else alone': { else: false },
  contains: { type: 'array', contains: { const: 1 } },
  'minContains and maxContains': { type: 'array', contains: { type: 'null' }, minContains: 0, maxContains: 1 },
  'not of a constant': { type: 'string', not: { const: 'a' } },
  'not of a type': { not: { type: 'null' } },
  'not of more': { not: { required: ['a'] } },
  dependentRequired: { dependentRequired: { a: ['b'] } },
  dependentSchemas: { dependentSchemas: { a: { required: ['b'] } } },
  dependencies: { dependencies: { a: ['b'], c: { required: ['a'] }, d: 'a' } },
  'oneOf of two objects': {
    oneOf: [
      { type: 'object', properties: { a: { type: 'string' } } },
      { type: 'object', properties: { b: { type: 'string' } } },
    ],
  },
  'overlapping oneOf': { oneOf: [{ type: 'integer' }, { type: 'number' }] },
  'multipleOf 7': { type: 'integer', multipleOf: 7 },
  'multipleOf 0.25': { type: 'number', multipleOf: 0.25 },
  'pattern with \\p': { type: 'string', pattern: '^\\p{L}+$' },
  'pattern with \\b': { type: 'string', pattern: '\\bfoo\\b' },
  'pattern with look-behind': { type: 'string', pattern: '(?<=a)b' },
  'pattern with a back reference': { type: 'string', pattern: '(a)\\1' },
  'pattern beside an enum': { enum: ['a', 'b'], pattern: '^a$' },
  'members beside an enum': { type: 'object', enum: [{ a: 1 }], required: ['a'] },
  'six patterns of names': {
    type: 'object',
    patternProperties: Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [`^${name}`, {}])),
  },
  'alternatives of names': { type: 'object', propertyNames: { anyOf: [{ const: 'a' }, { pattern: '^b' }] } },
  'minProperties of any object': { type: 'object', minProperties: 3 },
  unevaluatedProperties: { type: 'object', unevaluatedProperties: false },
  unevaluatedItems: { type: 'array', unevaluatedItems: false },
  $dynamicRef: { $dynamicRef: '#node' },
  $recursiveRef: { $recursiveRef: '#' },
  'reference to another document': { $ref: 'https://example.com/schema.json#/definitions/a' },
  'nullable without a type': { nullable: true },
};
