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
    cache = new KeyCache((hashes) => Promise.all(hashes.map(read)), { nowMs: () => nowMs, monotonicMs: () => nowMs });
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

describe('a KeyCache that reads keys together', () => {
  const [first, second, third] = [new Uint8Array([1]), new Uint8Array([2]), new Uint8Array([3])];
  let nowMs: number;
  let reads: number[][];
  let failure: Error | null;
  let cache: KeyCache;

  beforeEach(() => {
    nowMs = 0;
    reads = [];
    failure = null;
    const read = async (hashes: readonly Uint8Array[]) => {
      reads.push(hashes.map(([byte = 0]) => byte));
      if (failure !== null) throw failure;
      return hashes.map(([id]) => ({ ...active, id: String(id) }));
    };
    cache = new KeyCache(read, { nowMs: () => nowMs, monotonicMs: () => nowMs }, 2);
  });

  const idOf = async (hash: Uint8Array<ArrayBuffer>) => (await cache.find(hash))?.id;

  it('reads those in use in one step, and each again after 5 s', async () => {
    expect([await idOf(first), await idOf(second)]).toEqual(['1', '2']);
    nowMs = 3_000;
    await cache.find(second);
    nowMs = 5_000;
    expect(await idOf(first)).toBe('1');
    nowMs = 9_999;
    expect(await idOf(second)).toBe('2');
    expect(reads).toEqual([[1], [2], [1, 2]]);
    nowMs = 10_000;
    expect(await idOf(second)).toBe('2');
    expect(reads).toHaveLength(4);
  });

  it('leaves out keys that nobody uses, and more than fit', async () => {
    for (const hash of [first, second, third]) await cache.find(hash);
    nowMs = 3_000;
    for (const hash of [second, third]) await cache.find(hash);
    nowMs = 5_000;
    await cache.find(first);
    nowMs = 10_000;
    await cache.find(second);
    expect(reads.slice(3)).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  it('keeps no failure of a step', async () => {
    for (const hash of [first, second]) await cache.find(hash);
    await cache.find(second);
    nowMs = 5_000;
    failure = new Error('away');
    await expect(cache.find(first)).rejects.toThrow('away');
    failure = null;
    expect([await idOf(first), await idOf(second)]).toEqual(['1', '2']);
  });
});
