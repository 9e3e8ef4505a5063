import { describe, expect, it } from 'vitest';
import { AdapterCache } from './adapter-cache.js';

const input = (contentHash: string, accountId = 'one', modelId = 'ears') => ({ accountId, modelId, contentHash });
const hour = 3_600_000;

describe('AdapterCache', () => {
  it('finds what the same account got from the same adapter for the same content, and nothing else', () => {
    const cache = new AdapterCache(100_000);
    cache.set(input('a'), ['text']);
    expect(cache.get(input('a'))).toEqual(['text']);
    expect(cache.get(input('b'))).toBeNull();
    expect(cache.get(input('a', 'two'))).toBeNull();
    expect(cache.get(input('a', 'one', 'eyes'))).toBeNull();
  });

  it('forgets an hour after the last use', () => {
    let now = 0;
    const cache = new AdapterCache(100_000, () => now);
    cache.set(input('a'), ['text']);
    now = hour - 1;
    expect(cache.get(input('a'))).not.toBeNull();
    now = 2 * hour - 2;
    expect(cache.get(input('a'))).not.toBeNull();
    now = 3 * hour;
    expect(cache.get(input('a'))).toBeNull();
  });

  it('gives one account a quarter at most, and drops its least recently used texts', () => {
    const cache = new AdapterCache(12_000);
    cache.set(input('other', 'two'), ['x'.repeat(1_000)]);
    cache.set(input('a'), ['x'.repeat(500)]);
    cache.set(input('b'), ['x'.repeat(500)]);
    cache.get(input('a'));
    cache.set(input('c'), ['x'.repeat(500)]);
    expect(['a', 'b', 'c'].map((hash) => cache.get(input(hash)) !== null)).toEqual([true, false, true]);
    expect(cache.get(input('other', 'two'))).not.toBeNull();
    cache.set(input('large'), ['x'.repeat(2_000)]);
    expect(cache.get(input('large'))).toBeNull();
  });

  it('stays within its bound over all accounts, however often a text is replaced', () => {
    const cache = new AdapterCache(12_000);
    const accounts = Array.from({ length: 20 }, (_, index) => `account ${index}`);
    for (let round = 0; round < 3; round++) {
      for (const account of accounts) cache.set(input('a', account), ['x'.repeat(500)]);
    }
    const kept = accounts.filter((account) => cache.get(input('a', account)) !== null);
    expect(kept.length).toBe(Math.floor(12_000 / (500 * 2 + 256)));
    expect(kept.at(-1)).toBe('account 19');
  });

  it('of no size keeps nothing', () => {
    const cache = new AdapterCache(0);
    cache.set(input('a'), ['']);
    expect(cache.get(input('a'))).toBeNull();
  });
});
