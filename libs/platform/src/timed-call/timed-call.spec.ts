import { describe, expect, it } from 'vitest';
import { CallTimeout, callWithin } from './timed-call.js';

describe('callWithin', () => {
  it('returns what the work returns, and throws what it throws', () => {
    expect(callWithin(60_000, () => [1])).toEqual([1]);
    const error = new TypeError('no');
    expect(() =>
      callWithin(60_000, () => {
        throw error;
      }),
    ).toThrow(error);
  });

  it('stops work without end, that of an expression too, and can be used again', () => {
    expect(() =>
      callWithin(20, () => {
        for (;;);
      }),
    ).toThrow(CallTimeout);
    expect(() => callWithin(20, () => /^(a+)+$/.test(`${'a'.repeat(60)}b`))).toThrow(CallTimeout);
    expect(callWithin(60_000, () => 2)).toBe(2);
  });
});
