import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random, splitMix64 } from './random.js';

describe('Random', () => {
  it('returns the published outputs of xoshiro128++ for the state 1, 2, 3, 4', () => {
    const random = Random.withState([1, 2, 3, 4]);
    const outputs = Array.from({ length: 10 }, () => random.nextUint32());
    expect(outputs).toEqual([
      641, 1573767, 3222811527, 3517856514, 836907274, 4247214768, 3867114732, 1355841295, 495546011, 621204420,
    ]);
  });

  it('seeds with the published outputs of SplitMix64', () => {
    expect(splitMix64(0n, 1n)).toBe(0xe220a8397b1dcdafn);
    expect(splitMix64(0n, 2n)).toBe(0x6e789e6aa1b965f4n);
  });

  it('repeats its numbers for the same seed and stays in [0, 1)', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (seed) => {
        const [left, right] = [new Random(seed), new Random(seed)];
        for (let draw = 0; draw < 20; draw++) {
          const unit = left.nextUnit();
          expect(unit).toBe(right.nextUnit());
          expect(unit >= 0 && unit < 1).toBe(true);
        }
      }),
    );
  });

  it('draws differently for neighboring seeds and without a seed', () => {
    const firsts = [0, 1, 2, -1, 2 ** 53 - 1, undefined, undefined].map((seed) => new Random(seed).nextUnit());
    expect(new Set(firsts).size).toBe(firsts.length);
  });
});
