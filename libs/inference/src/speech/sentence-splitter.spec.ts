import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitSentences } from './sentence-splitter.js';

const textsOf = (text: string): string[] => splitSentences(text).map((sentence) => sentence.text);

describe('splitSentences', () => {
  it.each([
    ['One. Two! Three? Four…', ['One.', 'Two!', 'Three?', 'Four…']],
    [
      'Dr. Smith met Mr. J. Jones at 5 p.m. in St. Louis. They left.',
      ['Dr. Smith met Mr. J. Jones at 5 p.m. in St. Louis.', 'They left.'],
    ],
    ['It costs $3.50 at example.com. Really?', ['It costs $3.50 at example.com.', 'Really?']],
    ['“Is it?” she asked. “Yes!” He nodded.', ['“Is it?” she asked.', '“Yes!”', 'He nodded.']],
    ['See Fig. 3, e.g. the left one. Done.', ['See Fig. 3, e.g. the left one.', 'Done.']],
    ['no capital here. but it goes on', ['no capital here. but it goes on']],
    ['1. First item\n2. Second item', ['1. First item', '2. Second item']],
  ])('cuts %j', (text, sentences) => {
    expect(textsOf(text)).toEqual(sentences);
  });

  it('joins wrapped lines, and ends a sentence where a new line begins with a capital', () => {
    expect(textsOf('A line that is\nwrapped here\nAnother one')).toEqual([
      'A line that is\nwrapped here',
      'Another one',
    ]);
  });

  it('reports what follows: clause, sentence, paragraph or nothing', () => {
    const long = `W${'ord '.repeat(40)}, ${'more '.repeat(25)}end.`;
    const breaks = splitSentences(`One. Two.\n\nThree. ${long}`).map(({ before }) => before);
    expect(breaks).toEqual(['sentence', 'paragraph', 'sentence', 'clause', 'end']);
  });

  it('splits sentences longer than 200 characters, at clauses where possible', () => {
    const pieces = splitSentences(`${'a'.repeat(80)}, ${'b'.repeat(100)}; ${'c'.repeat(150)}`);
    expect(pieces.map(({ text }) => text.at(-1))).toEqual([';', 'c']);
    for (const { text } of splitSentences('x'.repeat(5_000))) expect(text.length).toBeLessThanOrEqual(200);
  });

  it('counts every character of any text once', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), (text) => {
        const total = splitSentences(text).reduce((sum, { characters }) => sum + characters, 0);
        expect(total).toBe([...text].length);
      }),
    );
  });

  it.each(['.', '\n', ' ', '"', '."', 'a. ', '\n ', '。', ',', '\n\n', 'A.', '.x'])(
    'handles a hundred thousand repetitions of %j',
    (pattern) => {
      const pieces = splitSentences(`${pattern.repeat(100_000)}x`);
      expect(pieces.reduce((sum, { characters }) => sum + characters, 0)).toBe(100_000 * pattern.length + 1);
    },
  );

  it('never splits a surrogate pair', () => {
    const rocket = '🚀';
    for (const { text } of splitSentences(`x${rocket.repeat(400)}`)) expect(text.isWellFormed()).toBe(true);
  });
});
