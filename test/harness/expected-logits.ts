import { expect } from 'vitest';
import type { LogitsBatch } from '#inference';

/** Largest difference from the reference's logits, whose kernels add in another order. */
const tolerance = 1e-4;

/** Logits of the row at `index` of those that were asked for. */
export function logitsOf(batch: LogitsBatch, index: number): Float32Array {
  const start = (batch.rowIndexes[index] ?? 0) * batch.vocabularySize;
  return (batch.logits ?? new Float32Array()).slice(start, start + batch.vocabularySize);
}

/** The largest difference of two logits of one token. */
export function logitDistance(actual: Float32Array, wanted: ArrayLike<number>): number {
  return Array.from(wanted).reduce((far, value, id) => Math.max(far, Math.abs(value - (actual[id] ?? NaN))), 0);
}

export function expectLogits(actual: Float32Array, wanted: ArrayLike<number>): void {
  expect(actual.length).toBe(wanted.length);
  expect(logitDistance(actual, wanted)).toBeLessThan(tolerance);
}
