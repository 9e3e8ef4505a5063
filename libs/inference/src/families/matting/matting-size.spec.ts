import { expect, it } from 'vitest';
import { mattingSize } from './matting-size.js';

const modnet = { kind: 'scaled', shortSide: 512, maxLongSide: 2_048, multipleOf: 32 } as const;

it.each([
  [64, 64, 512, 512],
  [1920, 1080, 896, 512],
  [1000, 4000, 512, 2048],
  [4001, 1000, 2048, 480],
  // A file of a few hundred bytes.
  [16, 4000, 32, 2048],
  [16_777_216, 1, 2048, 32],
])('a matte of %i by %i is computed at %i by %i: the long side is bounded', (width, height, wide, high) => {
  expect(mattingSize(modnet, { width, height })).toEqual({ width: wide, height: high });
});

it('is the same for all images of a network that takes one size', () => {
  const size = { kind: 'fixed', width: 320, height: 256 } as const;
  expect(mattingSize(size, { width: 4_000, height: 10 })).toEqual({ width: 320, height: 256 });
});
