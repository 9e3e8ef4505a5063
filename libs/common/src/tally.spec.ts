import { describe, expect, it } from 'vitest';
import { Tally } from './tally.js';

describe('Tally', () => {
  it('puts a value into the first bucket whose bound it does not exceed, and what is larger into the last', () => {
    const tally = new Tally([1, 2]);
    for (const value of [0.5, 1, 1.5, 2, 7]) tally.add(value);
    expect(tally.read()).toEqual({ bounds: [1, 2], counts: [2, 2, 1], sum: 12 });
  });

  it('gives readings that later values do not change', () => {
    const tally = new Tally([1]);
    const before = tally.read();
    tally.add(1);
    expect(before.counts).toEqual([0, 0]);
  });
});
