import { describe, expect, it } from 'vitest';
import { longestPrefix } from './prefix-store.js';
import { type MediaSpan, wholeMediaEnd, wholeMediaStart } from './prompt-media.js';

const span = (start: number, positions: number): MediaSpan => ({ start, positions, embeddings: new Float32Array(0) });
const spans = [span(10, 20), span(30, 5), span(70, 100)];

describe('a run of a prompt whose images must be whole', () => {
  it.each([
    ['ends before an image that it would cut', 0, 16, 10],
    ['holds an image that it begins with', 10, 26, 30],
    ['ends between two images', 10, 30, 30],
    ['is as long as wanted where it cuts no image', 0, 64, 64],
    ['holds an image that is longer than a run', 70, 134, 170],
    ['ends with an image', 70, 170, 170],
  ])('%s', (_, start, end, expected) => {
    expect(wholeMediaEnd(spans, { start, end })).toBe(expected);
  });

  it('goes on at the beginning of an image, where less was kept of it', () => {
    expect([9, 10, 11, 29, 30, 31, 35, 71].map((length) => wholeMediaStart(spans, length))).toEqual([
      9, 10, 10, 10, 30, 30, 35, 70,
    ]);
  });
});

it('a prefix is copied up to the beginning of an image that the row lacks a part of', () => {
  const ids = Int32Array.from({ length: 200 }, (_, index) => index);
  const row = { length: 200, reusableLength: 200, copyableLength: (wanted: number) => Math.min(wanted, 120) };
  const entry = { scope: { sharedTokens: 0 }, row, ids, exactLength: 200 };
  const find = (align?: (length: number) => number) =>
    longestPrefix({ keys: ids, scope: { sharedTokens: 0 } }, [entry], { grain: 1, isExact: false, align })?.length;
  expect(find()).toBe(120);
  expect(find((length) => wholeMediaStart(spans, length))).toBe(70);
});
