import { expect, it } from 'vitest';
import { charactersOf } from './characters.js';

it.each([
  ['', 0],
  ['größer', 6],
  ['😀😀', 2],
  // Half a pair is one, too.
  ['a\ud83d', 2],
])('%j has its characters', (text, characters) => {
  expect(charactersOf(text)).toBe(characters);
});
