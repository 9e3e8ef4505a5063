import { expect, it } from 'vitest';
import { scoreByWords } from './passage-words.js';

function best(question: string, passages: string[]): number {
  const scores = scoreByWords(question, passages);
  return scores.indexOf(Math.max(...scores));
}

it.each([
  ['When is high water?', ['It is so. It is what it is.', 'High water is at 14:20.', 'The boat is red.'], 1],
  ['Who keeps the SLUICE?', ['The boat is kept.', 'Sluices are kept by Ada.', 'The harbour.'], 1],
  ['港の満潮は何時ですか', ['船は赤い。', '天気は晴れ。', '満潮は午後です。'], 2],
])('prefers the passage that shares rare words with %s', (question, passages, index) => {
  expect(best(question, passages)).toBe(index);
});

it('scores nothing without words in common', () => {
  expect(scoreByWords('?!', ['a', 'b'])).toEqual([0, 0]);
  expect(scoreByWords('x', [])).toEqual([]);
});

it('takes little time for the largest pages', () => {
  const passages = Array.from({ length: 600 }, (_, index) => `Passage ${index}. `.repeat(60));
  const startedAtMs = performance.now();
  scoreByWords(Array.from({ length: 500 }, (_, index) => `word${index}`).join(' '), passages);
  expect(performance.now() - startedAtMs).toBeLessThan(5_000);
});
