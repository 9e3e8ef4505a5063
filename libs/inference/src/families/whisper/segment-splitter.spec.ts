import { describe, expect, it } from 'vitest';
import { splitSegments } from './segment-splitter.js';
import type { WhisperTokens } from './whisper.tokens.js';

const tokens = { timestampBegin: 100, isTimestamp: (id: number) => id >= 100 } as unknown as WhisperTokens;
/** Returns the token of a time. */
const at = (seconds: number) => 100 + Math.round(seconds / 0.02);

describe('the segments of a window', () => {
  it('lie between pairs of timestamps; an unfinished last segment is left to the next window', () => {
    const written = [at(0), 1, 2, at(1.5), at(1.5), 3, at(4), at(4.2), 4, 5];
    expect(splitSegments(written, tokens, 30)).toEqual({
      segments: [
        { tokens: [at(0), 1, 2, at(1.5)], start: 0, end: 1.5 },
        { tokens: [at(1.5), 3, at(4)], start: 1.5, end: 4 },
      ],
      transcribedUntil: 4,
    });
  });

  it('include the last one when a single timestamp ends the text', () => {
    const { segments, transcribedUntil } = splitSegments([at(0), 1, at(2), at(3), 2, at(5)], tokens, 30);
    expect(segments.map(({ start, end }) => [start, end])).toEqual([
      [0, 2],
      [3, 5],
    ]);
    expect(transcribedUntil).toBeNull();
  });

  it('are one segment without pairs, up to its last timestamp or the end of the audio', () => {
    expect(splitSegments([at(0), 1, 2, at(2.5)], tokens, 9).segments).toEqual([
      { tokens: [at(0), 1, 2, at(2.5)], start: 0, end: 2.5 },
    ]);
    expect(splitSegments([1, 2], tokens, 9).segments).toEqual([{ tokens: [1, 2], start: 0, end: 9 }]);
  });
});
