import { describe, expect, it } from 'vitest';
import { linear, parts } from './__fixtures__/parts.js';
import { attentionMatrix, medianFilter, rowStarts } from './attention-path.js';
import { splitTokenWords } from './word-splitter.js';
import {
  joinPunctuation,
  medianDuration,
  shortenAtSentenceEnds,
  type TimedWord,
  wordsOfSegments,
} from './word-timing.js';

describe('the attention path', () => {
  const { tokens, frames, sounding, skipped, matrix, starts } = parts.alignment;

  /** Attention of the reference script, after its softmax over all frames. */
  function heads() {
    const random = linear(42);
    return Array.from({ length: 3 }, () => {
      const data = new Float32Array(tokens * frames);
      for (let token = 0; token < tokens; token++) {
        const row = Array.from({ length: frames }, (_, frame) =>
          Math.exp(3 * random() + 4 * Math.exp(-((frame / frames - token / tokens) ** 2) * 80)),
        );
        const sum = row.reduce((total, value) => total + value, 0);
        data.set(
          row.map((value) => value / sum),
          token * frames,
        );
      }
      return { data, stride: frames };
    });
  }

  const made = attentionMatrix({ heads: heads(), tokens, positions: sounding, medianWidth: 7 });

  it('is smoothed and averaged as in the reference', () => {
    const rows = made.subarray(skipped * sounding, (tokens - 1) * sounding);
    expect(rows).toHaveLength(matrix.length);
    for (const [index, value] of rows.entries()) expect(value).toBeCloseTo(matrix[index] ?? 0, 3);
  });

  it('starts each token where the reference does', () => {
    const rows = tokens - skipped - 1;
    const costs = made.subarray(skipped * sounding, (tokens - 1) * sounding).map((value) => -value);
    expect([...rowStarts(costs, rows, sounding)]).toEqual(starts);
  });

  it('takes the diagonal where it is cheapest, and skips no row', () => {
    const costs = Float64Array.from({ length: 16 }, (_, index) => (index % 5 === 0 ? 0 : 1));
    expect([...rowStarts(costs, 4, 4)]).toEqual([0, 1, 2, 3]);
    expect([...rowStarts(new Float64Array(3), 3, 1)]).toEqual([0, 0, 0]);
  });

  it('mirrors the median filter at the ends', () => {
    expect([...medianFilter(Float64Array.of(9, 1, 5, 3, 7), 3)]).toEqual([1, 5, 3, 5, 3]);
    expect([...medianFilter(Float64Array.of(9, 1), 5)]).toEqual([9, 1]);
  });
});

describe('words', () => {
  it.each(parts.words.map((each, index) => ({ index, ...each })))(
    'are assigned to segments as in the reference, case $index',
    ({ words: given, segments, expected }) => {
      const words = given.map(({ tokens, ...word }): TimedWord => ({
        ...word,
        tokens: Array.from({ length: tokens }, () => 0),
        probability: 0.5,
      }));
      const median = medianDuration(words);
      shortenAtSentenceEnds(words, median);
      joinPunctuation(words);
      const made = wordsOfSegments(words, segments, { median, lastSpeechEnd: 0 });
      expect(made.map(({ words: own }) => own.map(({ word }) => word))).toEqual(
        expected.map(({ words: own }) => own.map(({ word }) => word)),
      );
      for (const [index, segment] of made.entries()) {
        expect(segment.start).toBeCloseTo(expected[index]?.start ?? -1, 6);
        expect(segment.end).toBeCloseTo(expected[index]?.end ?? -1, 6);
        for (const [at, word] of segment.words.entries()) {
          expect(word.start).toBeCloseTo(expected[index]?.words[at]?.start ?? -1, 6);
          expect(word.end).toBeCloseTo(expected[index]?.words[at]?.end ?? -1, 6);
        }
      }
    },
  );

  const pieces = [' Hel', 'lo', ',', ' wor', 'ld', '.'];
  const bytes = [[0xf0, 0x9f], [0x8c, 0x8a], [0x21]];
  const decodePieces = (ids: readonly number[]) => ids.map((id) => pieces[id]).join('');
  const decodeBytes = (ids: readonly number[]) => Buffer.from(ids.flatMap((id) => bytes[id] ?? [])).toString('utf8');

  it('begin at spaces and punctuation', () => {
    expect(splitTokenWords([0, 1, 2, 3, 4, 5], decodePieces, 'en').map(({ word }) => word)).toEqual([
      ' Hello',
      ',',
      ' world',
      '.',
    ]);
  });

  it('are whole characters in languages without spaces', () => {
    expect(splitTokenWords([0, 1, 2], decodeBytes, 'ja')).toEqual([
      { word: '🌊', tokens: [0, 1] },
      { word: '!', tokens: [2] },
    ]);
  });
});
