import { describe, expect, it } from 'vitest';
import { cosine, poolTokens, shapeVector } from './pooling.js';

// Two texts in one batch of three tokens each; the second has two tokens and non-zero padding.
const data = Float32Array.from([9, 9, 9, 9, 9, 9, 1, 4, 3, 2, 7, 7]);
const second = { data, offset: 6, length: 2, size: 2 };

describe('pooling', () => {
  it.each([
    ['mean', [2, 3]],
    ['cls', [1, 4]],
    ['last', [3, 2]],
    ['max', [3, 4]],
  ] as const)('%s uses only the tokens of its text', (pooling, vector) => {
    expect([...poolTokens(pooling, second)]).toEqual(vector);
  });
});

describe('the shape of a vector', () => {
  const vector = Float32Array.from([3, 4, 12]);

  it('has length 1 where the model normalizes', () => {
    const shaped = shapeVector(vector, { dimensions: null, normalize: true });
    expect([...shaped].map((value) => value * 13)).toEqual(
      [3, 4, 12].map((value) => expect.closeTo(value, 5) as number),
    );
  });

  it('is normalized again after truncation', () => {
    const shaped = shapeVector(vector, { dimensions: 2, normalize: false });
    expect([...shaped]).toEqual([expect.closeTo(0.6, 6), expect.closeTo(0.8, 6)]);
  });

  it('is unchanged where the model does not normalize, and for a zero vector', () => {
    expect(shapeVector(vector, { dimensions: 3, normalize: false })).toBe(vector);
    expect([...shapeVector(new Float32Array(2), { dimensions: null, normalize: true })]).toEqual([0, 0]);
  });
});

describe('the cosine', () => {
  it('is 1 for equal directions and 0 for a right angle', () => {
    expect(cosine(Float32Array.of(1, 2), Float32Array.of(2, 4))).toBeCloseTo(1, 12);
    expect(cosine(Float32Array.of(1, 0), Float32Array.of(0, 3))).toBe(0);
  });
});
