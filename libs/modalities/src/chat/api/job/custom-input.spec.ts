import { expect, it } from 'vitest';
import fc from 'fast-check';
import { customArguments, CustomInputReader } from './custom-input.js';

function read(json: string, cuts: readonly number[]): string {
  const reader = new CustomInputReader();
  const places = [...new Set(cuts.map((cut) => cut % (json.length + 1)))].toSorted((left, right) => left - right);
  return [...places, json.length].map((to, index) => reader.push(json.slice(places[index - 1] ?? 0, to))).join('');
}

/** Every character as an escape sequence. */
const escaped = (text: string) =>
  Array.from({ length: text.length }, (_, index) => text.charCodeAt(index).toString(16).padStart(4, '0'))
    .map((code) => `\\u${code}`)
    .join('');

it('reads the input of a custom tool, wherever its fragments end', () => {
  const texts = fc.string({ unit: 'grapheme' });
  fc.assert(
    fc.property(texts, fc.array(fc.nat()), (text, cuts) => {
      expect(read(customArguments(text), cuts)).toBe(text);
      expect(read(`{ "input" : "${escaped(text)}" }`, cuts)).toBe(text);
    }),
  );
});

it.each([
  ['*** Begin Patch\n+"a\\b"\t/\u{1F30A}', '*** Begin Patch\n+"a\\b"\t/\u{1F30A}'],
  [':"', ':"'],
])('reads %j', (text, expected) => {
  expect(read(customArguments(text), [1, 3, 8, 12])).toBe(expected);
});

it.each([
  ['{"input":"cut', 'cut'],
  ['{"input":"cut\\', 'cut'],
  ['{"input":"cut\\u00', 'cut'],
  ['{"in', ''],
  [String.raw`{"input":"\/\b\f\r"}`, '/\b\f\r'],
])('reads what there is of %s', (json, expected) => {
  expect(new CustomInputReader().push(json)).toBe(expected);
});
