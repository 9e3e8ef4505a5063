import { describe, expect, it } from 'vitest';
import { sessionTokensIn, writeSessionCookie } from './session-cookie.js';
import { csrfTextOf, isCsrfTextOf, looksLikeSessionToken, newSessionToken } from './session-token.js';

const name = 'sluice_console_abc';

describe('the cookie of a session', () => {
  it('is hidden from scripts and other sites, and marked Secure over TLS', () => {
    const cookie = { name, path: '/a/b/', isSecure: true };
    expect(writeSessionCookie(cookie, 'token', 60)).toBe(
      `${name}=token; Max-Age=60; Path=/a/b/; HttpOnly; SameSite=Strict; Secure`,
    );
    expect(writeSessionCookie({ ...cookie, isSecure: false }, 'token', 60)).not.toContain('Secure');
  });

  it('is found among others, also several of them, and never more than eight', () => {
    expect(sessionTokensIn(undefined)).toEqual([]);
    expect(sessionTokensIn('theme=dark; x=sluice_console_y')).toEqual([]);
    expect(sessionTokensIn('theme=dark;sluice_console_a=one; sluice_console_b=two')).toEqual(['one', 'two']);
    const many = Array.from({ length: 20 }, (_, index) => `sluice_console_${index}=t${index}`).join('; ');
    expect(sessionTokensIn(many)).toHaveLength(8);
  });
});

describe('the text of a session', () => {
  const [newest, older] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

  it('belongs to one token, under the newest key or an older one', () => {
    const [token, other] = [newSessionToken(), newSessionToken()];
    const text = csrfTextOf(older, token);
    expect(looksLikeSessionToken(token)).toBe(true);
    expect(isCsrfTextOf([newest, older], token, text)).toBe(true);
    expect(isCsrfTextOf([newest], token, text)).toBe(false);
    expect(isCsrfTextOf([newest, older], other, text)).toBe(false);
    expect(isCsrfTextOf([newest, older], token, '')).toBe(false);
  });
});
