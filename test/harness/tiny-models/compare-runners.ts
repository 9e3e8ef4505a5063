import type { SequenceRunner } from './graph-runner.js';

/** Index of the largest value; the first of equals. */
export function argmax(values: Float32Array): number {
  return values.reduce((best, value, index) => (value > (values[best] ?? -Infinity) ? index : best), 0);
}

export function largestDifference(left: Float32Array, right: Float32Array): number {
  return left.reduce((largest, value, index) => Math.max(largest, Math.abs(value - (right[index] ?? NaN))), 0);
}

/** Logits of every step of a greedy continuation. */
export async function greedySteps(runner: SequenceRunner, prompt: number[], steps: number): Promise<Float32Array[]> {
  const rows: Float32Array[] = [];
  let next = prompt;
  for (let step = 0; step < steps; step++) {
    const { logits } = await runner.append(next);
    rows.push(Float32Array.from(logits));
    next = [argmax(logits)];
  }
  return rows;
}
