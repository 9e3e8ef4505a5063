import { describe, expect, it } from 'vitest';
import { Histogram } from './histogram.js';

describe('Histogram', () => {
  it('puts a value into the first bucket whose bound it does not exceed, and larger ones into the last', () => {
    const histogram = new Histogram([1, 2]);
    for (const value of [0.5, 1, 1.5, 2, 7]) histogram.add(value);
    expect(histogram.read()).toEqual({ bounds: [1, 2], counts: [2, 2, 1], sum: 12 });
  });

  it('returns snapshots that later values do not change', () => {
    const histogram = new Histogram([1]);
    const before = histogram.read();
    histogram.add(1);
    expect(before.counts).toEqual([0, 0]);
  });
});
