import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** 32 random bytes in base64url. */
const tokenForm = /^[\w-]{43}$/;

/** The token of a session or of a one-time link. */
export function newSessionToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns false for a text that cannot be a token, which saves a query. */
export function looksLikeSessionToken(text: string): boolean {
  return tokenForm.test(text);
}

/** sha256, as of API keys: the token is random, so a slow hash would protect nothing. */
export function hashSessionToken(token: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(token).digest());
}

/**
 * The text that every request of a session repeats in a header. A page of another origin can make a browser send the
 * cookie, but it can neither read this text nor compute it.
 */
export function csrfTextOf(key: Buffer, token: string): string {
  return createHmac('sha256', key).update(token).digest('base64url');
}

/** Whether `text` belongs to the session of `token`, under any of the keys. */
export function isCsrfTextOf(keys: readonly Buffer[], token: string, text: string): boolean {
  const given = Buffer.from(text);
  return keys.some((key) => {
    const expected = Buffer.from(csrfTextOf(key, token));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
