import { isUuid, PlatformError } from '#common';
import { type RequestCaller, queryFault, queryText } from '#platform/http';

/** Whose figures a caller may see. An inference key sees its own. */
export interface AdminScope {
  /** Null: every account, for an operator. */
  accountId: string | null;
  /** Null: every key of the account. */
  apiKeyId: string | null;
}

export const scopes = ['account', 'installation'] as const;

const pageSizes = { default: 50, max: 200 } as const;
const cursorForm = /^[\w-]{1,400}$/;

/** Returns all that a caller may see of its account. */
export function ownScope({ accountId, apiKeyId, kind }: RequestCaller): AdminScope & { accountId: string } {
  return { accountId, apiKeyId: kind === 'ADMIN' ? null : apiKeyId };
}

/** Reads `scope` and `key`. Throws `UNAUTHORIZED` for what the caller may not see. */
export function readScope(query: unknown, caller: RequestCaller): AdminScope {
  const keyId = readKeyId(query);
  if (readChoice(query, 'scope', scopes) === 'installation') {
    if (caller.isOperator === true) return { accountId: null, apiKeyId: keyId };
    throw new PlatformError('UNAUTHORIZED', 'This needs an ADMIN key of an operator account.', 'scope');
  }
  const scope = ownScope(caller);
  if (keyId === null || keyId === scope.apiKeyId) return scope;
  if (scope.apiKeyId === null) return { ...scope, apiKeyId: keyId };
  throw new PlatformError('UNAUTHORIZED', 'An inference key sees its own requests only.', 'key');
}

/** Reads `limit`. Throws `INVALID_REQUEST`. */
export function readLimit(query: unknown): number {
  const text = queryText(query, 'limit');
  if (text === undefined) return pageSizes.default;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= pageSizes.max) return limit;
  throw queryFault('limit', `limit must be a whole number from 1 to ${pageSizes.max}.`);
}

/** Reads the id of an API key. Throws `INVALID_REQUEST`. */
function readKeyId(query: unknown): string | null {
  const text = queryText(query, 'key');
  if (text === undefined || text === '') return null;
  if (isUuid(text)) return text;
  throw queryFault('key', 'key must be the id of an API key.');
}

/** Reads a short text; an empty one restricts nothing. Throws `INVALID_REQUEST`. */
export function readText(query: unknown, name: string, maxLength = 200): string | null {
  const text = queryText(query, name);
  if (text === undefined || text === '') return null;
  // PostgreSQL has no text with this character.
  if (text.length <= maxLength && !text.includes('\0')) return text;
  throw queryFault(name, `${name} may have ${maxLength} characters.`);
}

/** Reads one of `values`. Throws `INVALID_REQUEST`. */
export function readChoice<Value extends string>(query: unknown, name: string, values: readonly Value[]): Value | null {
  const text = queryText(query, name);
  if (text === undefined || text === '') return null;
  const value = values.find((known) => known === text);
  if (value !== undefined) return value;
  throw queryFault(name, `${name} must be one of: ${values.join(', ')}.`);
}

/**
 * Returns a position in a list as opaque text. It is not signed: whatever it says, a page shows only what the caller may
 * see.
 */
export function writeCursor(position: readonly (string | number | boolean)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** Reads `cursor`; null without one. `check` returns null for a position that no list wrote. Throws `INVALID_REQUEST`. */
export function readCursor<Position>(query: unknown, check: (position: unknown[]) => Position | null): Position | null {
  const text = queryText(query, 'cursor');
  if (text === undefined || text === '') return null;
  const position = cursorForm.test(text) ? parse(text) : null;
  const checked = position === null ? null : check(position);
  if (checked !== null) return checked;
  throw queryFault('cursor', 'cursor must be the nextCursor of a page; start again without it.', 'invalid_cursor');
}

function parse(text: string): unknown[] | null {
  try {
    const position: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(position) ? (position as unknown[]) : null;
  } catch {
    return null;
  }
}

/** A page of rows, and the cursor of the next one where one more row than shown was found. */
export function pageOf<Row>(
  found: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
): { rows: Row[]; nextCursor: string | null } {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, nextCursor: last === undefined ? null : cursorOf(last) };
}

/** True for a time that JavaScript and PostgreSQL both know. */
export function isMoment(ms: unknown): ms is number {
  return typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms < 253_402_300_800_000;
}
