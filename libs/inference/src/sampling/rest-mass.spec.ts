import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { restFromLogSumExp, totalMass } from './rest-mass.js';

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

describe('restFromLogSumExp', () => {
  it('bounds the true weight of all tokens outside the best, at any temperature', () => {
    const logitsArbitrary = fc.array(fc.integer({ min: -96, max: 96 }), { minLength: 2, maxLength: 200 });
    fc.assert(
      fc.property(
        logitsArbitrary,
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(0.1, 0.5, 0.9, 1, 1.1, 1.7, 3),
        (eighths, kept, temperature) => {
          const sorted = eighths.map((value) => value / 8).sort((left, right) => right - left);
          const best = sorted[0] ?? 0;
          const count = Math.min(kept, sorted.length);
          const weights = (values: number[], at: number): number =>
            sum(values.map((value) => Math.exp((value - best) / at)));
          const bounds = restFromLogSumExp({
            logSumExp: Math.fround(best + Math.log(weights(sorted, 1))),
            best,
            last: sorted[count - 1] ?? best,
            candidateMassAtOne: weights(sorted.slice(0, count), 1),
            temperature,
            others: sorted.length - count,
          });
          const truth = weights(sorted.slice(count), temperature);
          expect(bounds.low).toBeLessThanOrEqual(truth);
          expect(bounds.high).toBeGreaterThanOrEqual(truth);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('is tight at temperature 1, where the log-sum-exp is exact', () => {
    const bounds = restFromLogSumExp({
      logSumExp: Math.log(4),
      best: 0,
      last: 0,
      candidateMassAtOne: 2,
      temperature: 1,
      others: 2,
    });
    expect(bounds.low).toBeCloseTo(2, 3);
    expect(bounds.high).toBeCloseTo(2, 3);
  });
});

describe('totalMass', () => {
  it('sums the weights of all logits and ignores masked ones', () => {
    const logits = Float32Array.of(1, 0, -Infinity, -1000);
    expect(totalMass(logits, 1, 2)).toBeCloseTo(1 + Math.exp(-0.5), 10);
  });
});
