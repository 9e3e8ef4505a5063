import { PlatformError } from '#common';

/** Creates a 400 for a query parameter; `message` is a sentence that names it. */
export function queryFault(name: string, message: string, code = 'invalid_query'): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, name, { issues: [{ code, path: [name], message }] });
}

/** Returns one query parameter, or undefined when absent. Throws `INVALID_REQUEST` if it is repeated. */
export function queryText(query: unknown, name: string): string | undefined {
  const value: unknown = (query as Record<string, unknown>)[name];
  if (value === undefined || typeof value === 'string') return value;
  throw queryFault(name, `${name} may be given once.`);
}
