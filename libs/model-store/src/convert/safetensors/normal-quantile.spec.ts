import { describe, expect, it } from 'vitest';
import { normalQuantile } from './normal-quantile.js';

describe('normalQuantile', () => {
  // The values are those of published tables.
  it.each([
    [0.5, 0],
    [0.8413447460685429, 1],
    [0.95, 1.6448536269514722],
    [0.975, 1.959963984540054],
    [0.001, -3.090232306167813],
    [0, -Infinity],
    [1, Infinity],
  ])('returns for the share %d the value %d', (share, value) => {
    if (Number.isFinite(value)) expect(normalQuantile(share)).toBeCloseTo(value, 9);
    else expect(normalQuantile(share)).toBe(value);
  });
});
