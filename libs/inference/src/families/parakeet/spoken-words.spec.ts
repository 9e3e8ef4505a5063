import { describe, expect, it } from 'vitest';
import { joinWords, splitSentences } from './spoken-words.js';

const pieces = ['', ' the', ' boat', 's', '.', ' went', '?', '川', '。', ' ', '5', '”'];
const textOf = (id: number): string => pieces[id] ?? '';

/** Returns words of tokens that are given as id, frame and duration. */
function wordsOf(...tokens: [id: number, frame: number, duration: number][]) {
  const emitted = tokens.map(([id, frame, duration]) => ({ id, frame, duration, logprob: Math.log(0.5) }));
  return joinWords(emitted, { textOf, secondsPerFrame: 0.08 });
}

describe('words of tokens', () => {
  it('begin at spaces, and last until the end of their last piece', () => {
    expect(wordsOf([1, 2, 1], [2, 4, 2], [3, 6, 3])).toEqual([
      { text: ' the', tokens: [1], start: 0.16, end: 0.24, probability: 0.5 },
      { text: ' boats', tokens: [2, 3], start: 0.32, end: 0.72, probability: 0.5 },
    ]);
  });

  it('get their punctuation, which takes no time', () => {
    expect(wordsOf([2, 0, 2], [4, 30, 4])).toMatchObject([{ text: ' boat.', tokens: [2, 4], start: 0, end: 0.16 }]);
  });

  it('do not overlap, and last a frame where the model predicts none', () => {
    const words = wordsOf([1, 3, 4], [2, 5, 0]);
    expect(words.map(({ start, end }) => [start, end])).toEqual([
      [3 * 0.08, 5 * 0.08],
      [5 * 0.08, 6 * 0.08],
    ]);
  });

  it('omit special tokens, and separate the characters of scripts without spaces', () => {
    expect(wordsOf([0, 0, 1], [7, 1, 1], [7, 2, 1], [8, 3, 1]).map(({ text }) => text)).toEqual(['川', '川。']);
  });

  it('may begin with a space of its own', () => {
    expect(wordsOf([9, 0, 1], [10, 1, 1]).map(({ text }) => text)).toEqual([' 5']);
  });
});

describe('sentences of words', () => {
  it('end with punctuation, quoted or not, and the last one where the words end', () => {
    const words = wordsOf([1, 0, 1], [2, 1, 1], [4, 2, 1], [5, 3, 1], [6, 4, 1], [11, 4, 1], [1, 5, 1]);
    const sentences = splitSentences(words).map((sentence) => sentence.map(({ text }) => text).join(''));
    expect(sentences).toEqual([' the boat.', ' went?”', ' the']);
    expect(splitSentences([])).toEqual([]);
  });
});
