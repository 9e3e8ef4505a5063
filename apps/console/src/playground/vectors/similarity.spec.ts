import { describe, expect, it } from 'vitest';
import { cosine, linesOf } from './similarity.js';

describe('cosine', () => {
  it.each([
    [[1, 0], [1, 0], 1],
    [[1, 0], [0, 3], 0],
    [[2, 2], [-1, -1], -1],
    [[3, 4], [4, 3], 0.96],
    [[0, 0], [1, 1], 0],
  ])('of %j and %j is %d', (left, right, expected) => {
    expect(cosine(left, right)).toBeCloseTo(expected, 10);
  });
});

describe('linesOf', () => {
  it('leaves blank lines out', () => {
    expect(linesOf(' a \n\n \nb\r\n')).toEqual(['a', 'b']);
  });
});
