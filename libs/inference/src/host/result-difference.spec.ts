import { describe, expect, it } from 'vitest';
import { describeDifference, exact, isEmpty, toleranceOf, type TrialResult } from './result-difference.js';

const floats = toleranceOf('fp16');
const codes = toleranceOf('int4');

function text(...tokens: [token: string, logprob: number, top?: Record<string, number>][]): TrialResult {
  return { values: [], tokens: tokens.map(([token, logprob, top = {}]) => ({ token, logprob, top })) };
}

const values = (...all: unknown[]): TrialResult => ({ tokens: [], values: all });

describe('texts of two providers', () => {
  const reference = text(['a', -0.5], ['b', -1, { b: -1, c: -1.05 }], ['d', -0.2]);

  it('are alike within the tolerance of the precision', () => {
    const near = text(['a', -0.65], ['b', -1.1], ['d', -0.3]);
    expect(describeDifference(reference, near, floats)).toBeNull();
    expect(describeDifference(reference, near, exact)).toBe('token 1 has a log-probability of -0.65, not -0.5');
    const far = text(['a', -0.95], ['b', -1], ['d', -0.2]);
    expect(describeDifference(reference, far, codes)).toBeNull();
    expect(describeDifference(reference, far, floats)).toBe('token 1 has a log-probability of -0.95, not -0.5');
  });

  it('may resolve a tie differently, and then go on as they like', () => {
    expect(describeDifference(reference, text(['a', -0.5], ['c', -1], ['x', -9]), floats)).toBeNull();
  });

  it('differ by a token that the processor finds unlikely, or by their length', () => {
    expect(describeDifference(reference, text(['a', -0.5], ['x', -1]), floats)).toBe('token 2 is "x", not "b"');
    expect(describeDifference(reference, text(['a', -0.5]), floats)).toBe('its text ends after 1 tokens');
    const longer = text(['a', -0.5], ['b', -1], ['d', -0.2], ['e', 0]);
    expect(describeDifference(reference, longer, floats)).toBe('its text has 4 tokens, not 3');
  });

  it('with numbers that are none are not alike', () => {
    expect(describeDifference(text(['a', -0.5]), text(['a', Number.NaN]), codes)).toMatch(/NaN/);
  });
});

describe('values of two providers', () => {
  it('are compared by the largest number of an array, however deep it lies', () => {
    const vectors = (third: number) => values({ vectors: [new Float32Array([1, 0.01, third])] });
    expect(describeDifference(vectors(0), vectors(0.02), floats)).toBeNull();
    expect(describeDifference(vectors(0), vectors(0.25), codes)).toBe('the result.0.vectors.0 has 0.25 at 2, not 0');
    expect(describeDifference(vectors(0), vectors(Number.NaN), codes)).toMatch(/NaN/);
    expect(describeDifference(values({ score: 0.5 }), values({ score: 0.7 }), codes)).toMatch(/score has 0.7/);
  });

  it('have the same shape and the same words', () => {
    expect(describeDifference(values({ a: [1, 2] }), values({ a: [1] }), floats)).toMatch(/has 1 numbers, not 2/);
    expect(describeDifference(values({ a: 1 }), values({ a: 1, b: 2 }), floats)).toMatch(/other members/);
    expect(describeDifference(values({ a: 'x' }), values({ a: 'y' }), floats)).toMatch(/is y, not x/);
    expect(describeDifference(values(null), values({ a: 1 }), floats)).toMatch(/not null/);
    expect(describeDifference(values(new BigInt64Array([1n])), values(new BigInt64Array([1n])), exact)).toBeNull();
  });

  it('without a number are nothing to compare', () => {
    expect([isEmpty(values({})), isEmpty(values({ text: '' })), isEmpty(values({ a: [{ b: 0 }] }))]).toEqual([
      true,
      true,
      false,
    ]);
    expect(isEmpty(text(['a', 0]))).toBe(false);
  });
});
