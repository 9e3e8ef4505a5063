import { describe, expect, it } from 'vitest';
import { joinWindows, softmax, splitSegments, splitWindows } from './text-windows.js';

const ids = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('the segments of a text', () => {
  it.each(['', 'a b', 'word '.repeat(4_000), 'x'.repeat(20_000)])('are all of it, in order', (text) => {
    const segments = [...splitSegments(text)];
    expect(segments.join('')).toBe(text);
    expect(segments.every((segment) => segment.length <= 8_193)).toBe(true);
  });
});

describe('the windows of a text', () => {
  it.each([
    [0, [0]],
    [3, [3]],
    [8, [8]],
    [9, [8, 3]],
    [14, [8, 8]],
    [15, [8, 8, 3]],
  ])('hold all of %i tokens: %j', (count, sizes) => {
    const windows = splitWindows(ids(count), 8);
    expect(windows.map(({ length }) => length)).toEqual(sizes);
    expect([...new Set(windows.flat())]).toEqual(ids(count));
  });

  it('repeat the end of the one before, so that a phrase at the edge is whole in one of them', () => {
    const [first = [], second = []] = splitWindows(ids(12), 8);
    expect(second.slice(0, 2)).toEqual(first.slice(-2));
  });

  it('count as their least harmless one', () => {
    const windows = [
      [0.9, 0.1],
      [0.2, 0.8],
      [0.7, 0.3],
    ];
    expect(joinWindows(windows)).toEqual([0.2, 0.8]);
  });

  it('have probabilities, also for large scores', () => {
    expect(softmax([1_000, 1_000])).toEqual([0.5, 0.5]);
  });
});
