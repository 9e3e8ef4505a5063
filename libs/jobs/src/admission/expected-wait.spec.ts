import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryAfterSeconds } from './expected-wait.js';

describe('retryAfterSeconds', () => {
  it('is from the end of the excess to that of the queue, by the throughput', () => {
    const queue = { waiting: 100, excess: 20, ratePerMs: 0.002 };
    expect(retryAfterSeconds({ ...queue, random: 0 })).toBe(10);
    expect(retryAfterSeconds({ ...queue, random: 0.999999 })).toBe(60);
  });

  it('differs between callers who are refused together', () => {
    const seconds = new Set(
      Array.from({ length: 50 }, (_value, index) =>
        retryAfterSeconds({ waiting: 500, excess: 1, ratePerMs: 0.01, random: index / 50 }),
      ),
    );
    expect(seconds.size).toBeGreaterThan(40);
  });

  it('is a whole number of seconds from 1 to 300, whatever was measured', () => {
    const property = fc.property(
      fc.nat({ max: 1_000_000 }),
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      fc.option(fc.double({ min: 1e-9, max: 10, noNaN: true })),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (waiting, excess, ratePerMs, random) => {
        const seconds = retryAfterSeconds({ waiting, excess, ratePerMs, random });
        expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 300).toBe(true);
      },
    );
    fc.assert(property);
  });
});
