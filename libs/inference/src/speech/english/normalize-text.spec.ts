import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeText } from './normalize-text.js';

describe('normalizeText', () => {
  it.each([
    ['I have 3 cats and 21 dogs.', 'I have three cats and twenty one dogs.'],
    ['It has 1,234,567 parts.', 'It has one million two hundred thirty four thousand five hundred sixty seven parts.'],
    ['Pi is 3.14, not -2.', 'Pi is three point one four, not minus two.'],
    [
      'In 1999, 2000, 2007 and 2024',
      'In nineteen ninety nine, two thousand, two thousand seven and twenty twenty four',
    ],
    ['the 1990s and the ’80s', 'the nineteen nineties and the eighties'],
    ['the 1st, 2nd, 3rd and 21st', 'the first, second, third and twenty first'],
    ['1/2 cup, 2 1/2 miles, ¾ full', 'one half cup, two and one half miles, three quarters full'],
    ['pages 10-20', 'pages ten to twenty'],
    ['1914–1918', 'nineteen fourteen to nineteen eighteen'],
    ['agent 007', 'agent zero zero seven'],
    ['On Jan. 5th, 2024', 'On january fifth, twenty twenty four'],
    ['5 March 2021', 'the fifth of march twenty twenty one'],
    [
      'on 2023-11-21 and 3/4/2023',
      'on november twenty first, twenty twenty three and march fourth, twenty twenty three',
    ],
    [
      'at 9:30 am, 3:05pm, 12:00 and 15:00',
      "at nine thirty A.M, three oh five P.M, twelve o'clock and fifteen hundred",
    ],
    [
      'It costs $1, $2.50, $0.99 or £3.',
      'It costs one dollar, two dollars and fifty cents, ninety nine cents or three pounds.',
    ],
    ['worth $3.5 billion and €20M', 'worth three point five billion dollars and twenty million euros'],
    [
      '5 km, 1 kg, 100 km/h and 20°C',
      'five kilometers, one kilogram, one hundred kilometers per hour and twenty degrees celsius',
    ],
    ['50% of 10-15%', 'fifty percent of ten to fifteen percent'],
    ['Dr. Smith vs. Mr. Jones etc.', 'doctor Smith versus mister Jones et cetera.'],
    ['12 Main St. near St. Paul', 'twelve Main street near saint Paul'],
    ['e.g. this, i.e. that, No. 5', 'for example this, that is that, number five'],
    ['Visit https://www.example.com/docs.', 'Visit example dot com slash docs.'],
    ['Mail joe@foo.org, please', 'Mail joe at foo dot org, please'],
    ['Tom & Jerry + 3', 'Tom and Jerry plus three'],
    ['#1 in the U.S. today', 'number one in the U.S today'],
    ['World War II and Henry VIII', 'World War two and Henry the eighth'],
    ['GitHub, COVID-19, MP3 and v2.0', 'Git Hub, COVID nineteen, MP three and version two point zero'],
    ['Call 555-123-4567', 'Call five five five, one two three, four five six seven'],
    ['café naïve “quoted” it’s—yes...', 'cafe naive "quoted" it\'s — yes…'],
    ["the dogs' 'quoted' rock'n'roll", "the dogs' quoted rock'n'roll"],
    ['**bold** and `code` 🚀', 'bold and code'],
    ['你好', ''],
  ])('says %j as %j', (written, spoken) => {
    expect(normalizeText(written)).toBe(spoken);
  });

  it('leaves only letters and marks, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        expect(normalizeText(text)).toMatch(/^[A-Za-z',.!?;:—…"() ]*$/u);
      }),
    );
  });

  it('handles digit runs of any length in linear time', () => {
    expect(normalizeText('9'.repeat(4_000)).startsWith('nine nine nine')).toBe(true);
  });

  // Before, each of these took minutes, far beyond the limit of a test.
  it.each(['A-', 'a.', '1.', '−', ' ', '\n', "'", '_', '/', '0,', ' - ', '。'])(
    'handles 300,000 characters of %j in linear time',
    (unit) => {
      const spoken = normalizeText(`Start ${unit.repeat(300_000 / unit.length)} end`);
      expect(spoken).toMatch(/^Start\b[^]*\bend$/u);
    },
  );

  it('says long texts as it says their sentences', () => {
    const sentence = 'On July 4, 1776 it cost $5.50 in the U.S. of 1.5 km. ';
    const one = normalizeText(sentence);
    expect(normalizeText(sentence.repeat(40))).toBe(Array.from({ length: 40 }, () => one).join(' '));
  });
});
