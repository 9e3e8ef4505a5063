import fc from 'fast-check';

const scalar = fc.oneof(
  fc.constantFrom<object>({ type: 'null' }, { type: 'boolean' }, { type: 'number' }, { type: 'string' }, {}),
  fc
    .tuple(fc.integer({ min: -300, max: 300 }), fc.integer({ min: 0, max: 400 }))
    .map(([minimum, span]) => ({ type: 'integer', minimum, maximum: minimum + span })),
  fc
    .tuple(fc.integer({ min: -99, max: 99 }), fc.integer({ min: 1, max: 50 }))
    .map(([low, span]) => ({ type: 'number', exclusiveMinimum: low / 8, maximum: low / 8 + span })),
  fc
    .tuple(fc.nat(5), fc.nat(20))
    .map(([minLength, more]) => ({ type: 'string', minLength, maxLength: minLength + more })),
  fc
    .constantFrom('^[a-z]{2,5}$', '^(foo|bar)+$', 'x', '^\\d{4}-\\d{2}$', '[^a]é?$')
    .map((pattern) => ({ type: 'string', pattern })),
  fc
    .uniqueArray(fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), { minLength: 1, maxLength: 5 })
    .map((values) => ({ enum: values })),
);
const names = ['name', 'foo', 'kind', 'é', 'a"b', 'x'];
const { schema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'schema' },
    scalar,
    fc
      .tuple(tie('schema'), fc.nat(2), fc.nat(3))
      .map(([items, minItems, more]) => ({ type: 'array', items, minItems, maxItems: minItems + more })),
    fc
      .tuple(fc.array(tie('schema'), { minLength: 1, maxLength: 3 }), fc.boolean())
      .map(([prefixItems, more]) => ({ type: 'array', prefixItems, items: more })),
    fc
      .record({
        properties: fc.dictionary(fc.constantFrom(...names), tie('schema'), { maxKeys: 4 }),
        required: fc.subarray(names.slice(0, 3)),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
      })
      .map((members) => ({ type: 'object', ...members })),
    fc
      .record({ patternProperties: fc.dictionary(fc.constantFrom('^x', '\\d$', 'o'), tie('schema'), { maxKeys: 2 }) })
      .map((members) => ({ type: 'object', maxProperties: 3, ...members })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc.tuple(tie('schema'), scalar).map(([first, second]) => ({ allOf: [first, second] })),
  ),
}));

/** JSON Schemas of the subset that constraints cover. */
export const anySchema = schema;
