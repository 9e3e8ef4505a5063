import { describe, expect, it } from 'vitest';
import { sessionCookieName, sessionTokensIn, writeSessionCookie } from './session-cookie.js';
import {
  csrfTextOf,
  isCsrfTextOf,
  isSessionToken,
  looksLikeLinkToken,
  newLinkToken,
  newSessionToken,
} from './session-token.js';

const name = 'sluice_console_abc';

describe('the cookie of a session', () => {
  it('is hidden from scripts and other sites, and marked Secure over TLS', () => {
    const cookie = { name, path: '/a/b/', isSecure: true };
    expect(writeSessionCookie(cookie, 'token', 60)).toBe(
      `${name}=token; Max-Age=60; Path=/a/b/; HttpOnly; SameSite=Strict; Secure`,
    );
    expect(writeSessionCookie({ ...cookie, isSecure: false }, 'token', 60)).not.toContain('Secure');
  });

  it('is found among others, also several of them, first those that no other host can set', () => {
    expect(sessionTokensIn(undefined)).toEqual([]);
    expect(sessionTokensIn('theme=dark; x=sluice_console_y')).toEqual([]);
    expect(sessionTokensIn('theme=dark;sluice_console_a=one; sluice_console_b=two')).toEqual(['one', 'two']);
    const tossed = 'sluice_console_a=tossed; __Host-sluice_console_a=own; __Secure-sluice_console_a=other';
    expect(sessionTokensIn(tossed)).toEqual(['own', 'tossed']);
  });

  it('has a name that only the host can set, over TLS and without a path prefix', () => {
    expect(sessionCookieName('a', { path: '/', isSecure: true })).toBe('__Host-sluice_console_a');
    expect(sessionCookieName('a', { path: '/', isSecure: false })).toBe('sluice_console_a');
    expect(sessionCookieName('a', { path: '/a/b/', isSecure: true })).toBe('sluice_console_a');
  });
});

describe('the token of a session', () => {
  const [newest, older] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

  it('proves that this installation made it, with the newest key or an older one', () => {
    const token = newSessionToken(older);
    expect(token).toMatch(/^[\w-]{43}\.[\w-]{22}$/);
    expect(newSessionToken(older)).not.toBe(token);
    expect(isSessionToken([newest, older], token)).toBe(true);
    expect(isSessionToken([newest], token)).toBe(false);
  });

  it.each([
    ['a changed tag', (token: string) => `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`],
    ['another random part', (token: string) => `${newLinkToken()}${token.slice(43)}`],
    ['no tag', (token: string) => token.slice(0, 43)],
    ['characters that no tag has', (token: string) => `${token.slice(0, -1)}é`],
    ['the token of a link', () => newLinkToken()],
    ['nothing', () => ''],
  ])('is none with %s', (_what, change) => {
    expect(isSessionToken([newest], change(newSessionToken(newest)))).toBe(false);
  });

  it('is no token of a link', () => {
    expect(looksLikeLinkToken(newLinkToken())).toBe(true);
    expect(looksLikeLinkToken(newSessionToken(newest))).toBe(false);
  });
});

describe('the text of a session', () => {
  const [newest, older] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

  it('belongs to one token, under the newest key or an older one', () => {
    const [token, other] = [newSessionToken(newest), newSessionToken(newest)];
    const text = csrfTextOf(older, token);
    expect(isCsrfTextOf([newest, older], token, text)).toBe(true);
    expect(isCsrfTextOf([newest], token, text)).toBe(false);
    expect(isCsrfTextOf([newest, older], other, text)).toBe(false);
    expect(isCsrfTextOf([newest, older], token, '')).toBe(false);
  });
});
