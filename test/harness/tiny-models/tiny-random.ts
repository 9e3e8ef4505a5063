import { seededRandom } from '../seeded-random.js';

/** A random stream that depends only on seed and name, so that weights do not depend on their order. */
export function namedRandom(seed: number, name: string): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  for (const character of name) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return seededRandom(state);
}

/** Normally distributed numbers (Box-Muller). */
export function gaussians(random: () => number, count: number, deviation: number): Float32Array {
  const values = new Float32Array(count);
  for (let index = 0; index < count; index++) {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    values[index] = deviation * radius * Math.cos(2 * Math.PI * random());
  }
  return values;
}
