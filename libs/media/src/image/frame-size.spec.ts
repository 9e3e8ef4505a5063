import { describe, expect, it } from 'vitest';
import { nearestRatio, readRatio, sizeOfLongSide, sizeOfPixels } from './frame-size.js';

describe('a shape', () => {
  it('is read from its ratio', () => {
    expect(readRatio('16:9')).toEqual({ width: 16, height: 9 });
    expect(readRatio('2.35:1')).toEqual({ width: 2.35, height: 1 });
    for (const ratio of ['auto', '0:1', '16/9', '1:1:1', '']) expect(readRatio(ratio)).toBeNull();
  });

  it('has the side of its tier as its longer side', () => {
    expect(sizeOfLongSide({ width: 16, height: 9 }, { side: 1_024, divisor: 64 })).toEqual({
      width: 1_024,
      height: 576,
    });
    expect(sizeOfLongSide({ width: 9, height: 16 }, { side: 2_048, divisor: 64 })).toEqual({
      width: 1_152,
      height: 2_048,
    });
    expect(sizeOfLongSide({ width: 1, height: 99 }, { side: 512, divisor: 64 })).toEqual({ width: 64, height: 512 });
  });

  it('is the nearest of a list', () => {
    const ratios = ['auto', '16:9', '1:1', '9:16'];
    expect(nearestRatio({ width: 1_536, height: 1_024 }, ratios)).toBe('16:9');
    expect(nearestRatio({ width: 1_024, height: 1_792 }, ratios)).toBe('9:16');
    expect(nearestRatio({ width: 256, height: 256 }, ratios)).toBe('1:1');
    expect(nearestRatio({ width: 256, height: 256 }, ['auto'])).toBeNull();
  });
});

it.each([
  [{ width: 512, height: 512 }, 512 * 512, { width: 512, height: 512 }],
  [{ width: 500, height: 70 }, 500 * 70, { width: 448, height: 64 }],
  [{ width: 10, height: 10 }, 100, { width: 64, height: 64 }],
  [{ width: 4096, height: 2048 }, 1_048_576, { width: 1408, height: 704 }],
  // Larger than before.
  [{ width: 300, height: 300 }, 1_048_576, { width: 1024, height: 1024 }],
  [{ width: 300, height: 240 }, 4_194_304, { width: 2240, height: 1792 }],
  [{ width: 16, height: 9 }, 1_048_576, { width: 1344, height: 768 }],
  // Raising a side to the divisor reduces the other one, which is limited too.
  [{ width: 1, height: 30_000 }, 30_000, { width: 64, height: 448 }],
  [{ width: 1, height: 65_536 }, 1_048_576, { width: 64, height: 8_192 }],
  [{ width: 500_000, height: 60 }, 1_048_576, { width: 8_192, height: 64 }],
])('%j of %i pixels has sides that are multiples of 64', (shape, pixels, expected) => {
  expect(sizeOfPixels(shape, { pixels, divisor: 64, maxSide: 8_192 })).toEqual(expected);
});
