import { describe, expect, it } from 'vitest';
import { parts } from '../families/whisper/__fixtures__/parts.js';
import { compressionRatio, loopedTokens } from './repetition.js';

describe('a text that repeats itself', () => {
  it.each(parts.compression)('has the compression ratio of the reference: $ratio', ({ text, ratio }) => {
    // zlib versions differ by a byte or two.
    expect(Math.abs(compressionRatio(text) - ratio) / ratio).toBeLessThan(0.06);
  });

  it('has ratio 0 when it is empty', () => expect(compressionRatio('  ')).toBe(0));

  it('is detected by the tokens at its end, without the first round', () => {
    const intro = [1, 2, 3, 4];
    const round = [7, 8, 9];
    const looped = [...intro, ...Array.from({ length: 14 }, () => round).flat()];
    expect(loopedTokens(looped)).toBe(13 * 3);
    expect(looped.slice(0, -loopedTokens(looped))).toEqual([...intro, ...round]);
    expect(loopedTokens(Array.from({ length: 40 }, () => 5))).toBe(39);
  });

  it('is not detected after a few rounds, nor with a different end', () => {
    expect(loopedTokens([1, 2, 1, 2, 1, 2, 1, 2])).toBe(0);
    expect(loopedTokens([...Array.from({ length: 60 }, () => 5), 6])).toBe(0);
    expect(loopedTokens([])).toBe(0);
  });
});
