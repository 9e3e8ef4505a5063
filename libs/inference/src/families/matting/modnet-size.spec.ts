import { expect, it } from 'vitest';
import { modnetSize } from './modnet-size.js';

it.each([
  [64, 64, 512, 512],
  [1920, 1080, 896, 512],
  [1000, 4000, 512, 2048],
  [4001, 1000, 2048, 480],
  // A file of a few hundred bytes.
  [16, 4000, 32, 2048],
  [16_777_216, 1, 2048, 32],
])('a matte of %i by %i is computed at %i by %i: the long side is bounded', (width, height, wide, high) => {
  expect(modnetSize({ width, height })).toEqual({ width: wide, height: high });
});
