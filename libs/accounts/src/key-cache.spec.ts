import { beforeEach, describe, expect, it } from 'vitest';
import type { KeyLookup } from './accounts.repository.js';
import { KeyCache } from './key-cache.js';

const hash = new Uint8Array([1, 2, 3]);
const active: KeyLookup = {
  id: 'k',
  accountId: 'a',
  kind: 'ADMIN',
  tier: 'default',
  modelPrivacy: 'ALL',
  betaAccess: false,
  accountState: 'active',
  isOperator: false,
  active: true,
  expiresInMs: null,
};

describe('KeyCache', () => {
  let nowMs: number;
  let reads: number;
  let answer: KeyLookup | null | Error;
  let cache: KeyCache;

  beforeEach(() => {
    nowMs = 0;
    reads = 0;
    answer = active;
    const read = () => {
      reads += 1;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    cache = new KeyCache(read, { nowMs: () => nowMs, monotonicMs: () => nowMs });
  });

  it('reads once for concurrent requests, and again after 5 s', async () => {
    await Promise.all([cache.find(hash), cache.find(hash)]);
    nowMs = 4_999;
    await cache.find(hash);
    expect(reads).toBe(1);
    nowMs = 5_000;
    await cache.find(hash);
    expect(reads).toBe(2);
  });

  it('keeps no entry past the expiry of the key', async () => {
    answer = { ...active, expiresInMs: 1_000 };
    await cache.find(hash);
    nowMs = 1_001;
    await cache.find(hash);
    expect(reads).toBe(2);
  });

  it('keeps neither unknown keys nor failures', async () => {
    answer = null;
    expect(await cache.find(hash)).toBeNull();
    answer = new Error('away');
    await expect(cache.find(hash)).rejects.toThrow('away');
    answer = active;
    expect(await cache.find(hash)).toBe(active);
  });
});
