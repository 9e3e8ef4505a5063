import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { issueWeb3Token, readWeb3Token, web3TokenMs } from './web3-token.js';

const key = Buffer.alloc(32, 7);
const nowMs = Date.parse('2026-11-21T12:00:00Z');

/** A token with any content and a valid signature. */
function forge(claims: unknown, header: unknown = { alg: 'HS256', typ: 'JWT' }): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

const claims = { iss: 'sluice', aud: 'generate-web3-key', jti: 'one', exp: nowMs / 1000 + 60 };

describe('a wallet token', () => {
  it('is valid for 15 minutes and unique', () => {
    const token = issueWeb3Token(key, nowMs);
    const { id, expiresAt } = readWeb3Token([key], token, nowMs + web3TokenMs - 1);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(expiresAt).toEqual(new Date(nowMs + web3TokenMs));
    expect(issueWeb3Token(key, nowMs)).not.toBe(token);
    expect(() => readWeb3Token([key], token, nowMs + web3TokenMs)).toThrow('has expired');
  });

  it.each(['', 'a.b', 'a.b.c.d', 'not a jwt', '🚣.🚣.🚣', 'e30.W10.AAAA', `${'a'.repeat(2_000)}.b.c`])(
    'is malformed as %j',
    (token) => {
      expect(() => readWeb3Token([key], token, nowMs)).toThrow('not a well-formed JWT');
    },
  );

  it('stays valid while the secret key is changed', () => {
    const newKey = Buffer.alloc(32, 9);
    for (const signer of [key, newKey]) {
      expect(readWeb3Token([newKey, key], issueWeb3Token(signer, nowMs), nowMs).id).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('is refused with another signature, key or algorithm', () => {
    const token = issueWeb3Token(key, nowMs);
    const altered = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`;
    const unsigned = forge(claims, { alg: 'none' });
    expect(() => readWeb3Token([key], altered, nowMs)).toThrow('signature of the token');
    expect(() => readWeb3Token([Buffer.alloc(32, 8)], token, nowMs)).toThrow('signature of the token');
    expect(() => readWeb3Token([key], unsigned, nowMs)).toThrow('signature of the token');
  });

  it.each([{ iss: 'other' }, { aud: 'other' }, { jti: 5 }, { exp: 'soon' }, { exp: undefined }])(
    'is refused with the claims %j',
    (changes) => {
      expect(() => readWeb3Token([key], forge({ ...claims, ...changes }), nowMs)).toThrow('claims of the token');
      expect(readWeb3Token([key], forge(claims), nowMs).id).toBe('one');
    },
  );
});
