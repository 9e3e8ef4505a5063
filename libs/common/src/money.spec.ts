import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costPerMillion, displayNanos, formatNanos, nanosOf, nanosPerUsd, parseNanos } from './money.js';

const nanos = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });

describe('money', () => {
  it('converts decimal prices that binary fractions cannot represent', () => {
    expect(nanosOf(0.29)).toBe(290_000_000n);
    expect(nanosOf(1.1)).toBe(1_100_000_000n);
    expect(nanosOf(0.000000001)).toBe(1n);
    expect(nanosOf(9_999_999_999)).toBe(9_999_999_999_000_000_000n);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -0.1])('refuses %s', (amount) => {
    expect(() => nanosOf(amount)).toThrow(RangeError);
  });

  it.each(['', '-', '1e3', '1,5', '0x1', '1.', '.5', '1.0000000001', ' 1'])('rejects %j', (text) => {
    expect(parseNanos(text)).toBeNull();
  });

  it('parses every amount it formats in full', () => {
    fc.assert(
      fc.property(nanos, (amount) => {
        expect(parseNanos(formatNanos(amount, 9))).toBe(amount);
      }),
    );
  });

  it('rounds half up on display only', () => {
    expect(formatNanos(499n)).toBe('0.000000');
    expect(formatNanos(500n)).toBe('0.000001');
    expect(formatNanos(-500n)).toBe('-0.000001');
    expect(displayNanos(1_234_567_500n)).toBe(1.234568);
    expect(formatNanos((nanosPerUsd * 3n) / 2n, 0)).toBe('2');
  });

  it('is never off by more than half a unit of the last decimal', () => {
    fc.assert(
      fc.property(nanos, fc.integer({ min: 0, max: 9 }), (amount, decimals) => {
        const shown = parseNanos(formatNanos(amount, decimals)) ?? 0n;
        const error = shown > amount ? shown - amount : amount - shown;
        expect(2n * error).toBeLessThanOrEqual(10n ** BigInt(9 - decimals));
      }),
    );
  });

  it('costs no less for more units, and nothing for none', () => {
    const units = fc.nat(2 ** 31 - 1);
    fc.assert(
      fc.property(units, units, fc.bigInt({ min: 0n, max: 10n ** 13n }), (first, second, price) => {
        const [less, more] = first < second ? [first, second] : [second, first];
        expect(costPerMillion(less, price)).toBeLessThanOrEqual(costPerMillion(more, price));
        expect(costPerMillion(0, price)).toBe(0n);
        expect(costPerMillion(1_000_000, price)).toBe(price);
      }),
    );
  });
});
