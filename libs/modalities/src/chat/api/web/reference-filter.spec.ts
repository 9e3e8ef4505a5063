import { expect, it } from 'vitest';
import { seededRandom } from '#test/seeded-random';
import { ReferenceFilter } from './reference-filter.js';

/** Passes a text in pieces of the given lengths, the last one repeated. */
function filtered(text: string, sourceCount: number, lengths: number[]): string {
  const filter = new ReferenceFilter(sourceCount);
  let passed = '';
  for (let start = 0, piece = 0; start < text.length; piece += 1) {
    const length = lengths[Math.min(piece, lengths.length - 1)] ?? 1;
    passed += filter.push(text.slice(start, start + length));
    start += length;
  }
  return passed + filter.finish();
}

const cases: [string, number, string][] = [
  ['It rains.[REF]0[/REF] So it does.', 1, 'It rains.[REF]0[/REF] So it does.'],
  ['Two at once [REF]0,2[/REF].', 3, 'Two at once [REF]0[/REF][REF]2[/REF].'],
  ['Blanks [REF] 1 , 1 [/REF]!', 2, 'Blanks [REF]1[/REF]!'],
  ['Unknown [REF]3[/REF], half known [REF]0, 9[/REF]', 3, 'Unknown , half known [REF]0[/REF]'],
  ['None is known [REF]0[/REF]', 0, 'None is known '],
  ['A list[0] and [a link](b)[', 1, 'A list[0] and [a link](b)['],
  ['Cut off [REF]0[/RE', 1, 'Cut off '],
  ['Half [REF] and [/REF] alone', 1, 'Half  and  alone'],
  ['Nested [REF][REF]0[/REF][/REF]', 1, 'Nested [REF]0[/REF]'],
  [`Endless [REF]${'1'.repeat(200)}`, 5, `Endless ${'1'.repeat(200)}`],
  ['Wrong [REF]one[/REF] [REF]-1[/REF] [ref]0[/ref]', 1, 'Wrong one -1 [ref]0[/ref]'],
];

it.each(cases)('passes on of %j with %i sources what names one', (text, sourceCount, expected) => {
  expect(filtered(text, sourceCount, [text.length])).toBe(expected);
});

it.each(cases)('does so for %j in pieces of any length', (text, sourceCount, expected) => {
  const random = seededRandom(7);
  for (let round = 0; round < 50; round += 1) {
    const lengths = Array.from({ length: 12 }, () => 1 + Math.floor(random() * 9));
    expect(filtered(text, sourceCount, lengths)).toBe(expected);
  }
  expect(filtered(text, sourceCount, [1])).toBe(expected);
});

it('holds back nothing but what may become a marker', () => {
  const filter = new ReferenceFilter(1);
  expect(filter.push('So [R')).toBe('So ');
  expect(filter.push('E')).toBe('');
  expect(filter.push('D] it is')).toBe('[RED] it is');
});
