/** A schema as applications send them: names, enumerations, bounded numbers, lists and a nested object. */
const order = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 40 },
    kind: { type: 'string', enum: ['book', 'record', 'toy', 'garden'] },
    quantity: { type: 'integer', minimum: 1, maximum: 500 },
    price: { type: 'number', minimum: 0 },
    shipping_address: {
      type: 'object',
      properties: {
        street: { type: 'string', maxLength: 60 },
        city: { type: 'string', maxLength: 30 },
        postal_code: { type: 'string', pattern: '^[0-9]{5}$' },
      },
      required: ['street', 'city', 'postal_code'],
      additionalProperties: false,
    },
    tags: { type: 'array', items: { type: 'string', maxLength: 12 }, maxItems: 3 },
    note: { anyOf: [{ type: 'string', maxLength: 80 }, { type: 'null' }] },
  },
  required: ['name', 'kind', 'quantity', 'price', 'shipping_address', 'tags', 'note'],
  additionalProperties: false,
} as const;

/** A list of more orders than fit, so that every stream runs to its token limit. */
export function everydaySchema(title: string): object {
  return { title, type: 'array', items: order, minItems: 40, maxItems: 60 };
}

/** Documents of that schema, as texts whose tokens a matcher reads. */
export const everydayDocument = JSON.stringify(
  Array.from({ length: 40 }, (_, index) => ({
    name: `The little red bird number ${index}`,
    kind: 'garden',
    quantity: 1 + index * 7,
    price: 12.5 + index,
    shipping_address: { street: `${index} River Road`, city: 'Greenfield', postal_code: String(10_000 + index) },
    tags: ['small', 'red', 'new'],
    note: index % 2 === 0 ? null : 'Leave it with the old man near the sea.',
  })),
);
