import { describe, expect, it } from 'vitest';
import { testDouble } from '#test/test-double';
import { CacheScopes } from './cache-scopes.js';

const secretKey = 'ab'.repeat(32);
const one = { accountId: '7f1f2ad6-3c1c-4a0e-9a5b-9b1d7a4f5c11' };
const two = { accountId: '0c3a0b52-55a3-4f6d-8a52-3b1f0f0c6a77' };

describe('cache scopes', () => {
  it('are the account by default, under a label that does not show it', () => {
    const scopes = new CacheScopes(testDouble({ secretKey, prefixCacheScope: 'account' }));
    expect(scopes.labelOf(one)).toMatch(/^[0-9a-f]{32}$/);
    expect(scopes.labelOf({ ...one })).toBe(scopes.labelOf(one));
    expect(scopes.labelOf(two)).not.toBe(scopes.labelOf(one));
    const other = new CacheScopes(testDouble({ secretKey: 'cd'.repeat(32), prefixCacheScope: 'account' }));
    expect(other.labelOf(one)).not.toBe(scopes.labelOf(one));
  });

  it('are the whole installation where the operator says so', () => {
    const scopes = new CacheScopes(testDouble({ secretKey, prefixCacheScope: 'installation' }));
    expect(scopes.labelOf(two)).toBe(scopes.labelOf(one));
  });
});
