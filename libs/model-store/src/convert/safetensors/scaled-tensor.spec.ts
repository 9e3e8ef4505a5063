import { describe, expect, it } from 'vitest';
import { scaledTensor } from './scaled-tensor.js';

/** Five rows of two values, each row of its place plus one. */
const tensor = {
  dimensions: [2, 5],
  rows: (from: number, to: number) =>
    Promise.resolve(Float32Array.from({ length: 2 * (to - from) }, (_, index) => from + Math.floor(index / 2) + 1)),
};

describe('a scaled tensor', () => {
  it('multiplies all rows by one factor', async () => {
    expect([...(await scaledTensor(tensor, 2).rows(1, 3))]).toEqual([4, 4, 6, 6]);
  });

  it('multiplies each part by its own, wherever the rows begin', async () => {
    const parts = [
      { rows: 1, factor: 10 },
      { rows: 3, factor: 100 },
      { rows: 1, factor: 1000 },
    ];
    const scaled = scaledTensor(tensor, parts);
    expect(scaled.dimensions).toEqual([2, 5]);
    const whole = [10, 200, 300, 400, 5000].flatMap((value) => [value, value]);
    expect([...(await scaled.rows(0, 5))]).toEqual(whole);
    expect([...(await scaled.rows(3, 5))]).toEqual(whole.slice(6));
  });
});
