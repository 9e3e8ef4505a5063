import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { embedPassages } from './embed-passages.js';

/** A model that reads eight characters; the vector of a text is its length. */
function modelOf(calls: number[]) {
  return (texts: readonly string[]) => {
    calls.push(texts.length);
    if (texts.some(({ length }) => length > 8)) return Promise.reject(new PlatformError('TOO_MANY_TOKENS', 'x'));
    return Promise.resolve(texts.map(({ length }) => [length]));
  };
}

describe('the vectors of passages', () => {
  it('are asked for in portions, in the order of the passages', async () => {
    const calls: number[] = [];
    const texts = Array.from({ length: 70 }, (_, index) => 'x'.repeat(1 + (index % 7)));
    expect(await embedPassages(texts, modelOf(calls))).toEqual(texts.map(({ length }) => [length]));
    expect(calls).toEqual([32, 32, 6]);
    expect(await embedPassages([], modelOf(calls))).toEqual([]);
  });

  it('are those of the beginning where the model does not read a passage whole, and of no other', async () => {
    const texts = ['one', 'two', '1,2,3,4,5,6,7,8,9,', 'eight..8', 'five.'];
    expect(await embedPassages(texts, modelOf([]))).toEqual([[3], [3], [4], [8], [5]]);
  });

  it('fail as the model does', async () => {
    const offline = new PlatformError('MODEL_OFFLINE', 'x');
    await expect(embedPassages(['a', 'b'], () => Promise.reject(offline))).rejects.toBe(offline);
    const never = new PlatformError('TOO_MANY_TOKENS', 'x');
    await expect(embedPassages(['abcd'], () => Promise.reject(never))).rejects.toBe(never);
  });
});
