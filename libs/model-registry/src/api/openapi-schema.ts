/** An OpenAPI schema fragment. */
export type Schema = Record<string, unknown>;

export const text: Schema = { type: 'string' };
export const number: Schema = { type: 'number' };
export const flag: Schema = { type: 'boolean' };

export function oneOf(values: readonly string[]): Schema {
  return { type: 'string', enum: [...values] };
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

export function recordOf(additionalProperties: Schema): Schema {
  return { type: 'object', additionalProperties };
}

/** Builds an object schema with required and optional members. */
export function object(
  required: Record<string, Schema>,
  optional: Record<string, Schema> = {},
  rest: Schema = {},
): Schema {
  const names = Object.keys(required);
  return {
    type: 'object',
    properties: { ...required, ...optional },
    ...(names.length > 0 ? { required: names } : {}),
    ...rest,
  };
}
