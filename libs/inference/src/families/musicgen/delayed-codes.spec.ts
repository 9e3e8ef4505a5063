import { describe, expect, it } from 'vitest';
import { DelayedCodes } from './delayed-codes.js';

const pad = 99;

describe('delayed codes', () => {
  it('feed each stream one step later than the one before, padded on both sides', () => {
    const codes = new DelayedCodes({ codebooks: 3, frames: 2, padId: pad });
    const fed: number[][] = [];
    for (let step = 0; step < codes.steps; step++) {
      fed.push(codes.inputsOf(step));
      for (let codebook = 0; codebook < 3; codebook++) codes.put(codebook, step, 10 * (codebook + 1) + step);
    }
    expect(fed).toEqual([
      [pad, pad, pad],
      [10, pad, pad],
      [11, 21, pad],
      [pad, 22, 32],
    ]);
    expect([...codes.all]).toEqual([10, 11, 21, 22, 32, 33]);
  });

  it('report which streams have a code at a step', () => {
    const codes = new DelayedCodes({ codebooks: 2, frames: 1, padId: pad });
    expect([0, 1].map((step) => [codes.makes(0, step), codes.makes(1, step)])).toEqual([
      [true, false],
      [false, true],
    ]);
  });
});
