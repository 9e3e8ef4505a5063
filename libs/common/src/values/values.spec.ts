import { describe, expect, it } from 'vitest';
import { errorText, isObject, productOf } from './index.js';

describe('values', () => {
  it.each([
    [{}, true],
    [[], false],
    [null, false],
    ['text', false],
  ])('takes %j for an object: %s', (value, isOne) => {
    expect(isObject(value)).toBe(isOne);
  });

  it('multiplies sizes, of which a scalar has none', () => {
    expect([productOf([2, 3, 4]), productOf([5, 0]), productOf([])]).toEqual([24, 0, 1]);
  });

  it('says what was thrown, error or not', () => {
    expect([errorText(new Error('no disk')), errorText('no disk'), errorText(7)]).toEqual(['no disk', 'no disk', '7']);
  });
});
