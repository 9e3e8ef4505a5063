import { expect, it } from 'vitest';
import { maxRunFrames, maxRunPixels, runBytes } from './run-memory.js';

const convolution = { fixedBytes: 0, bytesPerPixel: 1_000, bytesPerPixelPair: 0 };
const attention = { fixedBytes: 4_000, bytesPerPixel: 1_000, bytesPerPixelPair: 0.01 };
const overFrames = { ...attention, bytesPerPixelFramePair: 16 };

it('grows with the square of the pixels where they attend to each other', () => {
  expect(runBytes(convolution, { pixels: 2_000_000 })).toBe(2 * runBytes(convolution, { pixels: 1_000_000 }));
  expect(runBytes(attention, { pixels: 1_000_000 })).toBe(1e9 + 1e10 + 4_000);
  expect(runBytes(attention, { pixels: 1_000, frames: 16 })).toBe(16 * (1e6 + 1e4) + 4_000);
});

it('grows with the square of the frames where they attend to each other', () => {
  const added = (frames: number): number =>
    runBytes(overFrames, { pixels: 1_000, frames }) - runBytes(attention, { pixels: 1_000, frames });
  expect([added(1), added(16), added(160)]).toEqual([16_000, 4_096_000, 409_600_000]);
});

it.each([convolution, attention, overFrames])('allows the largest size that fits, and none above: %o', (shape) => {
  for (const [availableBytes, frames] of [
    [2 ** 30, 1],
    [20 * 2 ** 30, 16],
    [5_000, 1],
  ] as const) {
    const pixels = maxRunPixels({ ...shape, availableBytes }, frames);
    expect(runBytes(shape, { pixels, frames })).toBeLessThanOrEqual(availableBytes);
    expect(runBytes(shape, { pixels: pixels + 1, frames })).toBeGreaterThan(availableBytes);
  }
});

it('allows the largest number of frames that fits', () => {
  expect(maxRunFrames({ ...convolution, availableBytes: 10_999 }, 2)).toBe(5);
  expect(maxRunFrames({ ...convolution, fixedBytes: 4_000, availableBytes: 10_999 }, 2)).toBe(3);
  const frames = maxRunFrames({ ...overFrames, availableBytes: 2 ** 30 }, 4_096);
  expect(runBytes(overFrames, { pixels: 4_096, frames })).toBeLessThanOrEqual(2 ** 30);
  expect(runBytes(overFrames, { pixels: 4_096, frames: frames + 1 })).toBeGreaterThan(2 ** 30);
});

it('allows nothing where nothing is available', () => {
  expect(maxRunPixels({ ...attention, availableBytes: -1 })).toBe(0);
  expect(maxRunFrames({ ...attention, availableBytes: 0 }, 100)).toBe(0);
});
