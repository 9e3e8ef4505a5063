import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFloat16, encodeFloat16 } from './float16.js';

describe('half precision', () => {
  it('decodes known patterns', () => {
    const known: [number, number][] = [
      [0x3c00, 1],
      [0xc000, -2],
      [0x7bff, 65504],
      [0x0400, 2 ** -14],
      [0x0001, 2 ** -24],
      [0x3555, 0.333251953125],
      [0x7c00, Infinity],
    ];
    for (const [bits, value] of known) expect(decodeFloat16(bits)).toBe(value);
    expect(decodeFloat16(0x7e00)).toBeNaN();
  });

  it('round-trips every bit pattern that is a number', () => {
    const isNumber = (bits: number) => (bits & 0x7c00) !== 0x7c00 || (bits & 0x3ff) === 0;
    const patterns = Array.from({ length: 65536 }, (_, bits) => bits).filter(isNumber);
    expect(patterns.map((bits) => encodeFloat16(decodeFloat16(bits)))).toEqual(patterns);
  });

  it('rounds to the nearest value, ties to even, and overflows to infinity', () => {
    const range = fc.double({ min: -65519, max: 65519, noNaN: true });
    fc.assert(
      fc.property(range, (value) => {
        const single = Math.fround(value);
        const bits = encodeFloat16(single);
        const distance = Math.abs(decodeFloat16(bits) - single);
        for (const neighbour of [bits - 1, bits + 1]) {
          if ((neighbour & 0x7c00) === 0x7c00 || neighbour < 0) continue;
          expect(Math.abs(decodeFloat16(neighbour) - single)).toBeGreaterThanOrEqual(distance);
        }
      }),
    );
    expect(encodeFloat16(2049)).toBe(encodeFloat16(2048));
    expect(encodeFloat16(2051)).toBe(encodeFloat16(2052));
    expect(encodeFloat16(65520)).toBe(0x7c00);
    expect(encodeFloat16(-1e9)).toBe(0xfc00);
    expect(encodeFloat16(NaN)).toBe(0x7e00);
  });
});
