import { PlatformError } from '#common';

/** The 400 for a parameter of an address; `message` is a sentence that names it. */
export function queryFault(name: string, message: string, code = 'invalid_query'): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, name, { issues: [{ code, path: [name], message }] });
}

/** One parameter of an address; undefined when it is absent. Throws `INVALID_REQUEST` when it is there more than once. */
export function queryText(query: unknown, name: string): string | undefined {
  const value: unknown = (query as Record<string, unknown>)[name];
  if (value === undefined || typeof value === 'string') return value;
  throw queryFault(name, `${name} may be given once.`);
}
