import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** 32 random bytes in base64url. */
const linkTokenForm = /^[\w-]{43}$/;
/** The same, and a tag of 128 bits. */
const sessionTokenForm = /^[\w-]{43}\.[\w-]{22}$/;
const tagLength = 22;

/** The token of a one-time link. */
export function newLinkToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns false for a text that cannot be a token, which saves a query. */
export function looksLikeLinkToken(text: string): boolean {
  return linkTokenForm.test(text);
}

/** The token of a session. Its tag shows without a query that this installation made it. */
export function newSessionToken(key: Buffer): string {
  const random = randomBytes(32).toString('base64url');
  return `${random}.${tagOf(key, random)}`;
}

/** Returns true for a token that was made with one of the keys. Its session may have ended since. */
export function isSessionToken(keys: readonly Buffer[], text: string): boolean {
  if (!sessionTokenForm.test(text)) return false;
  const [random = '', tag = ''] = text.split('.');
  return keys.some((key) => timingSafeEqual(Buffer.from(tag), Buffer.from(tagOf(key, random))));
}

function tagOf(key: Buffer, random: string): string {
  return createHmac('sha256', key).update(random).digest('base64url').slice(0, tagLength);
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
  const presented = Buffer.from(text);
  return keys.some((key) => {
    const expected = Buffer.from(csrfTextOf(key, token));
    return presented.length === expected.length && timingSafeEqual(presented, expected);
  });
}
