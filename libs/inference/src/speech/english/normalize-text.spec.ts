import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeText, orderedRules } from './normalize-text.js';

/** Texts, each with what is said. */
const examples: [string, string][] = [
  ['I have 3 cats and 21 dogs.', 'I have three cats and twenty one dogs.'],
  ['It has 1,234,567 parts.', 'It has one million two hundred thirty four thousand five hundred sixty seven parts.'],
  ['Pi is 3.14, not -2.', 'Pi is three point one four, not minus two.'],
  ['In 1999, 2000, 2007 and 2024', 'In nineteen ninety nine, two thousand, two thousand seven and twenty twenty four'],
  ['the 1990s and the ’80s', 'the nineteen nineties and the eighties'],
  ['the 1st, 2nd, 3rd and 21st', 'the first, second, third and twenty first'],
  ['1/2 cup, 2 1/2 miles, ¾ full', 'one half cup, two and one half miles, three quarters full'],
  ['pages 10-20', 'pages ten to twenty'],
  ['1914–1918', 'nineteen fourteen to nineteen eighteen'],
  ['agent 007', 'agent zero zero seven'],
  ['On Jan. 5th, 2024', 'On january fifth, twenty twenty four'],
  ['in March 2021 at 5 pm', 'in march twenty twenty one at five P.M'],
  ['version 1.2.3', 'version one point two point three'],
  ['5 March 2021', 'the fifth of march twenty twenty one'],
  ['on 2023-11-21 and 3/4/2023', 'on november twenty first, twenty twenty three and march fourth, twenty twenty three'],
  ['at 9:30 am, 3:05pm, 12:00 and 15:00', "at nine thirty A.M, three oh five P.M, twelve o'clock and fifteen hundred"],
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
];

/** Signs between and behind digits, and characters that are not displayed. */
const notations: [string, string][] = [
  ['An exam\u00adple, a no\u2060te, a wo\u200brd\ufeff.', 'An example, a note, a word.'],
  ['-$5', 'minus five dollars'],
  ['$-5', 'minus five dollars'],
  ['a −$5.50 loss', 'a minus five dollars and fifty cents loss'],
  ['-£3.5bn, -5€ and -5k', 'minus three point five billion pounds, minus five euros and minus five thousand'],
  ['$5-$10 or $5-10', 'five dollars to ten dollars or five dollars to ten'],
  ['-5°C, -5% and -1/2', 'minus five degrees celsius, minus five percent and minus one half'],
  ['1.5e-3', 'one point five times ten to the minus three'],
  ['2E8, 1e10 and 1.5E+6', 'two times ten to the eighth, ten to the tenth and one point five times ten to the sixth'],
  ['10^6, 10^-6 and x^2', 'ten to the sixth, ten to the minus six and x squared'],
  [
    '10⁶, 10⁻³, 5 m² and 3 km³',
    'ten to the sixth, ten to the minus three, five meters squared and three kilometers cubed',
  ],
  ['6.02×10^23', 'six point zero two times ten to the twenty third'],
  ['2*3, 3x4, 3 × 4 and 2x3x4', 'two times three, three times four, three times four and two times three times four'],
  ['5**3 and 0x1F', 'five cubed and zero x one F'],
  ['24/7', 'twenty four seven'],
  ['9/11, 50/50 and 80/20', 'nine eleven, fifty fifty and eighty twenty'],
  ['9/11/2001 and 3/4', 'september eleventh, two thousand one and three quarters'],
  ['a pressure of 120/80', 'a pressure of one hundred twenty over eighty'],
  ['10:30:15', 'ten thirty and fifteen seconds'],
  [
    '10:30:15 am, 10:00:01 and 10:30:00',
    "ten thirty A.M and fifteen seconds, ten o'clock and one second and ten thirty",
  ],
  ['24:00', 'twenty four hundred'],
  ['10 000', 'ten thousand'],
  ['1 234 567.5', 'one million two hundred thirty four thousand five hundred sixty seven point five'],
  ['in 2023 100 people', 'in twenty twenty three one hundred people'],
  ['555-1234', 'five five five, one two three four'],
  ['500-1000 people', 'five hundred to one thousand people'],
  ['1 800 555 1234', 'one, eight zero zero, five five five, one two three four'],
  ['C#, F# minor, C++ and #1', 'C sharp, F sharp minor, C plus plus and number one'],
  ['5\'10"', 'five feet ten inches'],
  ["He is 6′2″, she is 5'1.", 'He is six feet two inches, she is five feet one inch.'],
  ['and/or, either/or, he/she, TCP/IP', 'and or, either or, he or she, TCP IP'],
];

describe('normalizeText', () => {
  it.each([...examples, ...notations])('says %j as %j', (written, spoken) => {
    expect(normalizeText(written)).toBe(spoken);
  });

  it('reaches every rule: none is behind another that takes all it would match', () => {
    const reached = new Set<RegExp>();
    for (const [written] of [...examples, ...notations]) {
      let text = written.normalize('NFKC');
      for (const { pattern, say } of orderedRules) {
        const next = text.replaceAll(pattern, say);
        if (next !== text) reached.add(pattern);
        text = next;
      }
      expect(text).not.toMatch(/\d/u);
    }
    expect(orderedRules.filter(({ pattern }) => !reached.has(pattern)).map(({ pattern }) => pattern.source)).toEqual(
      [],
    );
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
  it.each([
    'A-',
    'a.',
    '1.',
    '−',
    ' ',
    '\n',
    "'",
    '_',
    '/',
    '0,',
    ' - ',
    '。',
    '1^',
    '1 000 ',
    '1x',
    '1/',
    '1-',
    '-$',
    "1'",
    '\u00ad',
    '1e',
    '²',
  ])('handles 300,000 characters of %j in linear time', (unit) => {
    const spoken = normalizeText(`Start ${unit.repeat(300_000 / unit.length)} end`);
    expect(spoken).toMatch(/^Start\b[^]*\bend$/u);
  });

  it('says long texts as it says their sentences', () => {
    const sentence = 'On July 4, 1776 it cost $5.50 in the U.S. of 1.5 km. ';
    const one = normalizeText(sentence);
    expect(normalizeText(sentence.repeat(40))).toBe(Array.from({ length: 40 }, () => one).join(' '));
  });
});
