import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogitsBatch } from './logits-batch.js';
import { undecided } from './narrow-draw.js';
import { referenceDistribution, referenceDraw } from './reference-sampler.js';
import { Random } from './random.js';
import { type AllowedTokens, isAllowed, maskedLogits, type TokenConstraint } from './token-constraint.js';
import { TokenSampler } from './token-sampler.js';
import { scoreAllowedToken } from './token-score.js';

const size = 200;

function allowedOf(ids: readonly number[], endings: readonly number[] = []): AllowedTokens {
  const bits = new Uint32Array((size + 31) >> 5);
  for (const id of ids) bits[id >> 5] = (bits[id >> 5] ?? 0) | (1 << (id & 31));
  return { bits, endings };
}

const constraintOf = (allowed: AllowedTokens): TokenConstraint => ({
  allowed: () => allowed,
  accept: () => undefined,
  isFinished: () => false,
});

/** A batch of one row as a graph gives it: the best 16 with the log-sum-exp, all logits where asked for. */
function batchOf(logits: Float32Array, all: boolean): LogitsBatch {
  const best = Array.from(logits.keys())
    .sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b)
    .slice(0, 16);
  const highest = Math.max(...logits);
  const sum = logits.reduce((total, value) => total + Math.exp(value - highest), 0);
  return {
    rowIndexes: Int32Array.of(0),
    topValues: Float32Array.from(best, (id) => logits[id] ?? 0),
    topIds: Int32Array.from(best),
    topSize: 16,
    logSumExp: Float32Array.of(highest + Math.log(sum)),
    logits: all ? logits : null,
    vocabularySize: size,
  };
}

const rows = fc.record({
  logits: fc
    .array(fc.integer({ min: -800, max: 800 }), { minLength: size, maxLength: size })
    .map((values) => Float32Array.from(values, (value) => value / 100)),
  ids: fc.uniqueArray(fc.nat(size - 1), { minLength: 1, maxLength: 150 }),
  endings: fc.uniqueArray(fc.nat(size - 1), { maxLength: 2 }),
});
const settings = fc.record({
  temperature: fc.constantFrom(0, 0.3, 1, 1.5),
  topK: fc.constantFrom(0, 1, 5, 40),
  topP: fc.constantFrom(1, 0.9, 0.3),
  minP: fc.constantFrom(0, 0.1),
  seed: fc.integer({ min: 1, max: 1_000_000 }),
});

describe('a constrained TokenSampler', () => {
  it('draws what the reference draws from the vocabulary without the other tokens', () => {
    fc.assert(
      fc.property(rows, settings, ({ logits, ids, endings }, sampling) => {
        // Among more, those that are no candidates are drawn by their id.
        const allowed = allowedOf(ids.slice(0, 60), endings);
        const drawn = new TokenSampler(sampling, new Int32Array(0), constraintOf(allowed)).sample(
          batchOf(logits, true),
          0,
        );
        const masked = Array.from(logits, (value, id) => (isAllowed(allowed, id) ? value : -Infinity));
        const distribution = referenceDistribution(masked, { ...sampling, temperature: sampling.temperature || 1e-9 });
        const possible = distribution.filter(({ probability }) => probability > 0);
        expect(drawn).toBe(
          referenceDraw(possible, sampling.temperature > 0 ? new Random(sampling.seed).nextUnit() : 0),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('weighs a token once that both continues and ends the text', () => {
    const logits = new Float32Array(size);
    [logits[21], logits[49]] = [6.08, 6.09];
    // The draw of seed 1 is 0.49987: behind the share of token 49, 0.49736.
    const sampler = new TokenSampler(
      { temperature: 1.5, seed: 1 },
      new Int32Array(0),
      constraintOf(allowedOf([21, 49, 0], [49])),
    );
    expect(sampler.sample(batchOf(logits, true), 0)).toBe(21);
  });

  it('decides the same from the best few as from all logits, or not at all', () => {
    let decided = 0;
    fc.assert(
      fc.property(rows, settings, ({ logits, ids, endings }, sampling) => {
        const constraint = constraintOf(allowedOf(ids, endings));
        const fromFew = new TokenSampler(sampling, new Int32Array(0), constraint).sample(batchOf(logits, false), 0);
        if (fromFew === undecided) return;
        decided++;
        const all = { ...batchOf(logits, true), topValues: null, topIds: null };
        expect(fromFew).toBe(new TokenSampler(sampling, new Int32Array(0), constraint).sample(all, 0));
      }),
      { numRuns: 1_000 },
    );
    expect(decided).toBeGreaterThan(50);
  });

  it('applies penalties to what is allowed, and leaves the logits of the batch as they were', () => {
    const logits = Float32Array.from({ length: size }, (_, id) => (id === 7 ? 5 : id === 9 ? 4.5 : 6));
    const before = logits.slice();
    const allowed = allowedOf([7, 9]);
    const sampler = new TokenSampler({ temperature: 0, presencePenalty: 1 }, new Int32Array(0), constraintOf(allowed));
    expect(sampler.sample(batchOf(logits, true), 0)).toBe(7);
    sampler.accept(7);
    expect(sampler.sample(batchOf(logits, true), 0)).toBe(9);
    expect(logits).toEqual(before);
  });

  it('tells log-probabilities of the allowed tokens alone', () => {
    const logits = Float32Array.from({ length: size }, (_, id) => (id < 2 ? Math.log(id + 1) : 9));
    const score = scoreAllowedToken(batchOf(logits, true), 0, {
      tokenId: 0,
      alternatives: 5,
      allowed: allowedOf([0], [1]),
    });
    expect(score.logprob).toBeCloseTo(Math.log(1 / 3), 5);
    expect(score.top.map(({ id, logprob }) => [id, Math.round(Math.exp(logprob) * 300)])).toEqual([
      [1, 200],
      [0, 100],
    ]);
    expect(maskedLogits(logits, allowedOf([0]))[5]).toBe(-Infinity);
  });
});
