import { charactersOf, PlatformError } from '#common';
import { isGiven } from '#platform/http';

/**
 * Returns the 400 for a field. `message` is a sentence that names it, and `param` a path such as `messages[0].role`.
 * The issue has the sentence without its period, like those of the validation.
 */
export function invalidField(message: string, param: string, code = 'custom'): PlatformError {
  const keys = param.split(/[.[\]]+/).filter((part) => part !== '');
  const path = keys.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return new PlatformError('INVALID_REQUEST', message, param, {
    issues: [{ code, path, message: message.replace(/\.$/, '') }],
  });
}

/** Returns the 400 for a field that the model does not accept. */
export function fieldNotTaken(field: string, { id }: { id: string }): PlatformError {
  return invalidField(`${field} is not taken by the model ${id}.`, field);
}

/** Throws `INVALID_REQUEST` unless the value of a field is one of `options`. */
export function checkOneOf<Value extends string | number>(
  field: string,
  value: Value,
  options: readonly Value[],
): void {
  if (options.includes(value)) return;
  throw invalidField(`${field} must be one of: ${options.join(', ')}.`, field, 'invalid_enum_value');
}

/** Throws `INVALID_REQUEST` for a text of more than `max` code points. */
export function checkLength(field: string, text: string, max: number): void {
  if (charactersOf(text) <= max) return;
  throw invalidField(`${field} may have ${max} characters with this model.`, field, 'too_big');
}

/** Throws `INVALID_REQUEST` for the first of `fields` that a request sends to a model that accepts none of them. */
export function refuseFields<Wire extends object>(
  body: Wire,
  fields: readonly (keyof Wire & string)[],
  model: { id: string },
): void {
  const sent = fields.find((field) => isGiven(body[field]));
  if (sent !== undefined) throw fieldNotTaken(sent, model);
}
