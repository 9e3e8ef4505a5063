import { describe, expect, it } from 'vitest';
import type { CacheRow, Decoder } from './decoder.js';
import { type CachedPrefix, longestPrefix, PrefixStore } from './prefix-store.js';

function open() {
  const released: CacheRow[] = [];
  const store = new PrefixStore({ release: (row: CacheRow) => void released.push(row) } as unknown as Decoder);
  const rows = new Map<CacheRow, string>();
  const add = (name: string, length: number, { first = rows.size, keepMs = 0 } = {}): void => {
    const row = { length } as CacheRow;
    rows.set(row, name);
    const ids = Int32Array.from({ length }, (_, index) => first * 1_000 + index);
    const scope = { label: 'a', sharedTokens: 0 };
    const entry: CachedPrefix = { row, ids, exactLength: 0, scope, keepUntilMs: performance.now() + keepMs };
    store.add(entry);
  };
  return { store, add, released: () => released.map((row) => rows.get(row)) };
}

const hourMs = 3_600_000;

describe('cached prefixes', () => {
  it('to be kept outlast others that were used later', () => {
    const { store, add, released } = open();
    add('kept', 10, { keepMs: hourMs });
    for (const name of ['a', 'b', 'c']) add(name, 10);
    store.shrinkTo(20);
    expect(released()).toEqual(['a', 'b']);
    store.shrinkTo(0);
    expect(released()).toEqual(['a', 'b', 'c', 'kept']);
  });

  it('are kept for no longer than asked', () => {
    const { store, add, released } = open();
    add('expired', 10, { keepMs: -1 });
    add('later', 10);
    store.shrinkTo(10);
    expect(released()).toEqual(['expired']);
  });

  it('to be kept do not take more than half of the cache from others', () => {
    const { store, add, released } = open();
    for (const name of ['first', 'second', 'third']) add(name, 30, { keepMs: hourMs });
    add('other', 30);
    store.shrinkTo(60);
    expect(released()).toEqual(['first', 'second']);
    expect(store.tokens).toBe(60);
  });

  it('pass their time on to the longer prefix that replaces them', () => {
    const { store, add, released } = open();
    add('turn 1', 10, { first: 7, keepMs: hourMs });
    add('turn 2', 20, { first: 7 });
    for (const name of ['a', 'b']) add(name, 20);
    store.shrinkTo(40);
    expect(released()).toEqual(['turn 1', 'a']);
  });
});

describe('longestPrefix', () => {
  /** A row that has what is before position 40, and what the end of a prompt of 100 tokens sees. */
  const row = {
    length: 200,
    reusableLength: 200,
    copyableLength: (wanted: number) => (wanted >= 90 ? Math.min(wanted, 100) : Math.min(wanted, 40)),
  };
  const keys = Int32Array.from({ length: 200 }, (_, index) => index);
  const scope = { label: 'a', sharedTokens: 0 };
  const lengthFor = (grain: number, first = keys) =>
    longestPrefix({ keys: first, scope }, [{ row, ids: keys, exactLength: 200, scope }], { grain, isExact: true })
      ?.length;

  it('is one that the row still has', () => {
    expect(lengthFor(1)).toBe(100);
    expect(lengthFor(1, keys.slice(0, 96))).toBe(95);
    expect(lengthFor(1, keys.slice(0, 60))).toBe(40);
  });

  it('is still one when it is rounded to whole chunks', () => {
    expect(lengthFor(32)).toBe(96);
    expect(lengthFor(64)).toBeUndefined();
  });
});
