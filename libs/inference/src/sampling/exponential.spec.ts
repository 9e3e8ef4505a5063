import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exponential, negligible } from './exponential.js';

describe('exponential', () => {
  it('differs from Math.exp by a relative error below 10^−11', () => {
    fc.assert(
      fc.property(fc.double({ min: negligible, max: 0, noNaN: true }), (distance) => {
        expect(Math.abs(exponential(distance) / Math.exp(distance) - 1)).toBeLessThan(1e-11);
      }),
      { numRuns: 2000 },
    );
    expect(exponential(0)).toBe(1);
    expect(exponential(negligible)).toBeCloseTo(Math.exp(negligible), 25);
  });
});
