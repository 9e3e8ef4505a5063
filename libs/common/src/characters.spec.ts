import { expect, it } from 'vitest';
import { charactersOf } from './characters.js';

it.each([
  ['', 0],
  ['größer', 6],
  ['😀😀', 2],
  // An unpaired surrogate counts as one, too.
  ['a\ud83d', 2],
])('counts the characters of %j', (text, characters) => {
  expect(charactersOf(text)).toBe(characters);
});
