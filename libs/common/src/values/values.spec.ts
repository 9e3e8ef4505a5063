import { describe, expect, it } from 'vitest';
import { errorText, isObject } from './index.js';

describe('values', () => {
  it.each([
    [{}, true],
    [[], false],
    [null, false],
    ['text', false],
  ])('takes %j for an object: %s', (value, isOne) => {
    expect(isObject(value)).toBe(isOne);
  });

  it('says what was thrown, error or not', () => {
    expect([errorText(new Error('no disk')), errorText('no disk'), errorText(7)]).toEqual(['no disk', 'no disk', '7']);
  });
});
