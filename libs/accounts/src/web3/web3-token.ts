import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '#common';

/** How long a wallet has to sign, in ms. */
export const web3TokenMs = 15 * 60_000;

const issuer = 'sluice';
const audience = 'generate-web3-key';
const longest = 1_024;

/** Claims of a token issued here. */
export interface Web3Token {
  /** Lets a token create one key only. */
  id: string;
  expiresAt: Date;
}

interface Claims {
  iss?: unknown;
  aud?: unknown;
  jti?: unknown;
  exp?: unknown;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function macOf(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function refuse(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, 'token', {
    issues: [{ code: 'invalid_token', path: ['token'], message }],
  });
}

/** A JWT (HS256) that only proves that it is recent and issued here; nothing is stored until it is used. */
export function issueWeb3Token(key: Buffer, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000);
  const claims = { iss: issuer, aud: audience, jti: randomUUID(), iat: issuedAt, exp: issuedAt + web3TokenMs / 1000 };
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${macOf(key, signed).toString('base64url')}`;
}

function readPart(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Falls through: invalid JSON and a non-object are the same error to the caller.
  }
  throw refuse('The token is not a well-formed JWT.');
}

/**
 * Rejects with `INVALID_REQUEST`, distinguishing malformed tokens, invalid signatures, invalid claims and expired
 * tokens.
 */
export function readWeb3Token(keys: readonly Buffer[], token: string, nowMs: number): Web3Token {
  const parts = token.length <= longest && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token.split('.') : [];
  const [header = '', payload = '', signature = ''] = parts;
  if (parts.length === 0) throw refuse('The token is not a well-formed JWT.');
  const { alg } = readPart(header);
  const claims = readPart(payload);
  const presented = Buffer.from(signature, 'base64url');
  const isOurs = keys.some((key) => {
    const expected = macOf(key, `${header}.${payload}`);
    return presented.length === expected.length && timingSafeEqual(presented, expected);
  });
  if (alg !== 'HS256' || !isOurs) {
    throw refuse('The signature of the token is not ours.');
  }
  return checkedToken(claims, nowMs);
}

function checkedToken({ iss, aud, jti, exp }: Claims, nowMs: number): Web3Token {
  if (iss !== issuer || aud !== audience || typeof jti !== 'string' || typeof exp !== 'number') {
    throw refuse('The claims of the token are not those of a token for API keys.');
  }
  if (exp * 1000 <= nowMs) throw refuse('The token has expired; get a new one.');
  return { id: jti, expiresAt: new Date(exp * 1000) };
}
