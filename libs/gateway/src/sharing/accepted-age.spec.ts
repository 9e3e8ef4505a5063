import { expect, it } from 'vitest';
import { acceptedAgeMs } from './accepted-age.js';

it.each([
  [undefined, 0],
  ['', 0],
  ['max-age=4', 4_000],
  ['Max-Age=0', 0],
  ['no-transform, max-age=10', 10_000],
  ['max-age=4, no-cache', 0],
  ['no-store', 0],
  ['s-maxage=9', 0],
  ['max-age=x', 0],
  ['max-age=-1', 0],
  ['max-age=99999999', 0],
])('cache-control: %s accepts %d ms', (header, ms) => {
  expect(acceptedAgeMs(header)).toBe(ms);
});
