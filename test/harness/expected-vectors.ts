import { expect } from 'vitest';
import { vectorOf } from './tiny-encoder.js';

/** Compares vectors with those of the reference, which are packed. */
export function expectVectors(
  vectors: readonly Float32Array[],
  expected: readonly string[],
  texts: readonly string[],
): void {
  expect(vectors).toHaveLength(expected.length);
  for (const [index, vector] of vectors.entries()) {
    const wanted = vectorOf(expected[index] ?? '');
    expect(vector).toHaveLength(wanted.length);
    const difference = Math.max(...vector.map((value, at) => Math.abs(value - (wanted[at] ?? Number.NaN))));
    expect(difference, texts[index]).toBeLessThan(1e-4);
  }
}
