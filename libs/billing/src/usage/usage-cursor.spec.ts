import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cursorMs, readCursor, type UsageCursor, writeCursor } from './usage-cursor.js';

const key = Buffer.alloc(32, 3);
const nowMs = 1_795_000_000_000;
const account = 'account-1';
const cursor: UsageCursor = {
  filter: { currency: 'BUNDLED', startMs: 1, endMs: null, pageSize: 50 },
  after: { createdAtMs: nowMs - 5, entryId: 9_007_199_254_740_993n },
};

describe('a cursor', () => {
  it('carries the filter and the position, in 512 characters of its alphabet', () => {
    const text = writeCursor(key, account, cursor, nowMs);
    expect(text).toMatch(/^[A-Za-z0-9_-]{1,512}$/);
    expect(readCursor([key], account, text, nowMs + cursorMs - 1)).toEqual(cursor);
  });

  it('holds the longest possible values', () => {
    const max = { filter: { currency: 'USD', startMs: 8.64e15, endMs: 8.64e15, pageSize: 1_000 } as const };
    const text = writeCursor(key, account, { ...max, after: { createdAtMs: 8.64e15, entryId: 2n ** 63n } }, 8.64e15);
    expect(text.length).toBeLessThanOrEqual(512);
  });

  it('stays valid while the secret key is changed', () => {
    const newKey = Buffer.alloc(32, 9);
    for (const writer of [key, newKey]) {
      expect(readCursor([newKey, key], account, writeCursor(writer, account, cursor, nowMs), nowMs)).toEqual(cursor);
    }
  });

  it('is invalid for another account, under another key, or after 24 h', () => {
    const text = writeCursor(key, account, cursor, nowMs);
    expect(readCursor([key], 'account-2', text, nowMs)).toBeNull();
    expect(readCursor([Buffer.alloc(32, 4)], account, text, nowMs)).toBeNull();
    expect(readCursor([key], account, text, nowMs + cursorMs)).toBeNull();
  });

  it.each(['', 'AAAA', 'not a cursor', '🚣', 'A'.repeat(512), 'A'.repeat(100_000)])('is not %j', (text) => {
    expect(readCursor([key], account, text, nowMs)).toBeNull();
  });

  it('is invalid with any character changed, added or removed', () => {
    const text = writeCursor(key, account, cursor, nowMs);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const position = fc.nat(text.length - 1);
    fc.assert(
      fc.property(position, fc.constantFrom(...alphabet), (at, character) => {
        const altered = text.slice(0, at) + character + text.slice(at + 1);
        expect(readCursor([key], account, altered, nowMs)).toEqual(altered === text ? cursor : null);
      }),
    );
    expect(readCursor([key], account, `${text}A`, nowMs)).toBeNull();
    expect(readCursor([key], account, text.slice(0, -1), nowMs)).toBeNull();
  });
});
