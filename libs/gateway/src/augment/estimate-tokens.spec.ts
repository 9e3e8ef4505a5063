import { expect, it } from 'vitest';
import { estimateTokens } from './estimate-tokens.js';

it.each([
  ['', 0],
  ['Hello water gate', 3],
  ['internationalization', 4],
  ['1234567', 3],
  ["it's", 3],
  ['水門と船', 4],
  [' \n\t', 0],
])('estimates the tokens of %j', (text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens);
});
