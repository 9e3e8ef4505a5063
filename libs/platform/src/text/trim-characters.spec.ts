import { expect, it } from 'vitest';
import { trimEndOf, trimOf } from './trim-characters.js';

it('removes characters from the end of a text only', () => {
  expect(trimEndOf('..a.b,.!', '.,!')).toBe('..a.b');
  expect(trimEndOf('...', '.')).toBe('');
  expect(trimEndOf('', '.')).toBe('');
});

it('removes characters from both ends of a text', () => {
  expect(trimOf('//a/b//', '/')).toBe('a/b');
  expect(trimOf('////', '/')).toBe('');
});
