import { charactersOf, PlatformError } from '#common';
import { fieldFault } from '#platform/http';

/** The 400 for a field, with an issue. `param` is a path such as `messages[0].role`. */
export function invalidField(message: string, param: string, code = 'custom'): PlatformError {
  const keys = param.split(/[.[\]]+/).filter((part) => part !== '');
  const path = keys.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return new PlatformError('INVALID_REQUEST', message, param, { issues: [{ code, path, message }] });
}

/** The 400 for a field that the model does not take. */
export function fieldNotTaken(field: string, { id }: { id: string }): PlatformError {
  return fieldFault(`${field} is not taken by the model ${id}`, field, 'custom');
}

/** Throws `INVALID_REQUEST` unless the value of a field is one of `options`. */
export function checkOneOf<Value extends string | number>(
  field: string,
  value: Value,
  options: readonly Value[],
): void {
  if (options.includes(value)) return;
  throw fieldFault(`${field} must be one of: ${options.join(', ')}`, field, 'invalid_enum_value');
}

/** Throws `INVALID_REQUEST` for a text of more than `max` code points. */
export function checkLength(field: string, text: string, max: number): void {
  if (charactersOf(text) <= max) return;
  throw fieldFault(`${field} may have ${max} characters with this model`, field, 'too_big');
}
