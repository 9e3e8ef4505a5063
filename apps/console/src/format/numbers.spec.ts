import { describe, expect, it } from 'vitest';
import { formatBytes, formatCount, formatRate } from './numbers.js';

describe('a number', () => {
  it('has groups of three digits', () => {
    expect([formatCount(1_234_567), formatCount(0), formatCount(null)]).toEqual(['1,234,567', '0', '–']);
  });

  it('of events per second has one decimal', () => {
    expect([formatRate(12.34), formatRate(0), formatRate(Number.NaN), formatRate(null)]).toEqual([
      '12.3',
      '0.0',
      '–',
      '–',
    ]);
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [999_600, '1.0 MB'],
    [123_456_789, '123 MB'],
    [5e15, '5000 TB'],
    [null, '–'],
  ])('of %s bytes is %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});
