import { expect, it } from 'vitest';
import { countTurns } from '#test/count-turns';
import { scoreByWords } from './passage-words.js';

async function best(question: string, passages: string[]): Promise<number> {
  const scores = await scoreByWords(question, passages);
  return scores.indexOf(Math.max(...scores));
}

it.each([
  ['When is high water?', ['It is so. It is what it is.', 'High water is at 14:20.', 'The boat is red.'], 1],
  ['Who keeps the SLUICE?', ['The boat is kept.', 'Sluices are kept by Ada.', 'The harbour.'], 1],
  ['港の満潮は何時ですか', ['船は赤い。', '天気は晴れ。', '満潮は午後です。'], 2],
])('prefers the passage that shares rare words with %s', async (question, passages, index) => {
  expect(await best(question, passages)).toBe(index);
});

it('scores nothing without words in common', async () => {
  expect(await scoreByWords('?!', ['a', 'b'])).toEqual([0, 0]);
  expect(await scoreByWords('x', [])).toEqual([]);
});

it('takes little time for the largest pages and questions, and lets the event loop turn', async () => {
  const passages = Array.from({ length: 600 }, (_, index) => `Passage ${index}. `.repeat(60));
  const question = Array.from({ length: 100_000 }, (_, index) => `word${index}`).join(' ');
  const turns = countTurns();
  const begun = process.cpuUsage();
  await scoreByWords(question, passages);
  const { user } = process.cpuUsage(begun);
  expect(turns()).toBeGreaterThan(4);
  expect(user / 1_000).toBeLessThan(6_000);
});
