import { PlatformError } from '#common';

/** The 400 for a field of a body. `problem` is a sentence without its full stop that names the field. */
export function fieldFault(problem: string, param: string, code: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', `${problem}.`, param, {
    issues: [{ code, path: [param], message: problem }],
  });
}

/** Whether a field says something: null and an empty list count as absent. */
export function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
