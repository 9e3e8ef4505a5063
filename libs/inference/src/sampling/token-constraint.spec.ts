import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LogitsBatch, logitsOfTokens } from './logits-batch.js';
import { undecided } from './narrow-draw.js';
import { referenceDistribution, referenceDraw } from './reference-sampler.js';
import { Random } from './random.js';
import {
  type AllowedTokens,
  candidatesOf,
  isAllowed,
  maskedLogits,
  maxFew,
  newMaskHistory,
  type TokenConstraint,
} from './token-constraint.js';
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

/** As a matcher says it: with lists of what is allowed and what is not. */
function listed(ids: readonly number[], endings: readonly number[] = []): AllowedTokens {
  const few = ids.length > maxFew ? null : ids.toSorted((left, right) => left - right);
  const excluded = Array.from({ length: size }, (_, id) => id).filter((id) => !ids.includes(id));
  return { ...allowedOf(ids, endings), few, excluded: endings.length > 0 ? null : excluded };
}

/** The graph's answer to a row that wants these tokens; the best 16 beside it. */
function wantedBatch(logits: Float32Array, ids: readonly number[]): LogitsBatch {
  const wanted = Float32Array.from([...ids, 0, 0], (id) => logits[id] ?? 0);
  return { ...batchOf(logits, false), wanted, wantedSize: wanted.length };
}

const given = { topSize: 16, hasLogSumExp: true, givesWanted: true, vocabularySize: size };
const noPrompt = new Int32Array(0);

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

  it('decides the same from the logits of few allowed tokens as from all logits, always', () => {
    const penalties = fc.constantFrom({}, { presencePenalty: 1.2, frequencyPenalty: 0.3 }, { repetitionPenalty: 1.4 });
    fc.assert(
      fc.property(rows, settings, penalties, ({ logits, ids, endings }, sampling, penalty) => {
        const allowed = listed(ids.slice(0, 60), endings);
        const tokens = [false, true].map((isAll) => {
          const sampler = new TokenSampler({ ...sampling, ...penalty }, noPrompt, constraintOf(allowed));
          for (const id of ids.slice(0, 20)) sampler.accept(id);
          expect(sampler.fullChance(given)).toBe(0);
          const wanted = sampler.wantedIds(given);
          expect(wanted.length).toBe(candidatesOf(allowed)?.length === 1 ? 0 : candidatesOf(allowed)?.length);
          const few = isAll ? null : wantedBatch(logits, wanted);
          // A nucleus that rounding leaves open is decided by all logits.
          const token = sampler.sample(few ?? batchOf(logits, true), 0);
          return token === undecided ? sampler.sample(batchOf(logits, true), 0) : token;
        });
        expect(tokens[0]).toBe(tokens[1]);
        expect(isAllowed(allowed, tokens[0] ?? -1)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('decides the same with the list of excluded tokens as without', () => {
    let decided = 0;
    fc.assert(
      fc.property(rows, settings, fc.integer({ min: 150, max: 190 }), ({ logits }, sampling, count) => {
        const ids = Array.from({ length: count }, (_, index) => (index * 7) % size);
        const [plain, precise] = [allowedOf(ids), listed(ids)].map((allowed) => {
          return new TokenSampler(sampling, noPrompt, constraintOf(allowed)).sample(batchOf(logits, true), 0);
        });
        expect(precise).toBe(plain);
        decided++;
      }),
      { numRuns: 1_000 },
    );
    expect(decided).toBe(1_000);
  });

  it('takes the only token without logits, and uses up its draw of the seed', () => {
    const logits = Float32Array.from({ length: size }, (_, id) => Math.sin(id) * 3);
    let allowed = listed([5]);
    const constraint: TokenConstraint = { ...constraintOf(allowed), allowed: () => allowed };
    const sampling = { temperature: 1, seed: 3 };
    const sampler = new TokenSampler(sampling, noPrompt, constraint);
    expect([sampler.wantedIds(given), sampler.fullChance(given)]).toEqual([[], 0]);
    expect(sampler.sample(batchOf(logits, false), 0)).toBe(5);
    sampler.accept(5);
    allowed = listed([1, 2, 3, 4, 6, 7, 8]);
    const random = new Random(3);
    random.nextUnit();
    const masked = Array.from(logits, (value, id) => (isAllowed(allowed, id) ? value : -Infinity));
    const distribution = referenceDistribution(masked, { temperature: 1, topK: 0, topP: 1, minP: 0 });
    expect(sampler.sample(wantedBatch(logits, sampler.wantedIds(given)), 0)).toBe(
      referenceDraw(distribution, random.nextUnit()),
    );
  });

  it('learns how often the best candidates decide for a mask, in all sequences that share it', () => {
    const logits = Float32Array.from({ length: size }, (_, id) => -id);
    const allowed = { ...allowedOf(Array.from({ length: 100 }, (_, id) => id)), history: { drawn: 1, greedy: 1 } };
    for (let turn = 0; turn < 20; turn++) {
      const sampler = new TokenSampler({ temperature: 0 }, noPrompt, constraintOf(allowed));
      expect(sampler.sample(batchOf(logits, true), 0)).toBe(0);
    }
    const next = new TokenSampler({ temperature: 0 }, noPrompt, constraintOf(allowed));
    expect(next.fullChance(given)).toBeLessThan(0.05);
    // A draw also needs the weight of all others, and what it learns says nothing about greedy choices.
    const drawn = () => new TokenSampler({ temperature: 1, seed: 1 }, noPrompt, constraintOf(allowed));
    expect(drawn().fullChance({ ...given, hasLogSumExp: true })).toBe(1);
    allowed.history.greedy = 0;
    drawn().sample(
      batchOf(
        Float32Array.from({ length: size }, () => 0),
        true,
      ),
      0,
    );
    expect(allowed.history.greedy).toBe(0);
    expect(allowed.history.drawn).toBeLessThan(1);
  });

  it('expects sixteen greedy choices of nearly any token to need no other logits', () => {
    const history = newMaskHistory({ isAlmostAll: true });
    const allowed = { ...allowedOf(Array.from({ length: 180 }, (_, id) => id)), history };
    const chance = new TokenSampler({ temperature: 0 }, noPrompt, constraintOf(allowed)).fullChance(given);
    expect(chance * 16).toBeLessThan(0.05);
    expect(newMaskHistory({ isAlmostAll: false }).greedy).toBeGreaterThan(history.greedy);
  });

  it('scores few allowed tokens by their own logits as by all', () => {
    const logits = Float32Array.from({ length: size }, (_, id) => Math.sin(id) * 3);
    const allowed = listed([3, 9, 27, 81], [100]);
    const score = { tokenId: 27, alternatives: 3, allowed };
    const fromFew = scoreAllowedToken(wantedBatch(logits, [3, 9, 27, 81, 100]), 0, score);
    expect(fromFew).toEqual(scoreAllowedToken(batchOf(logits, true), 0, score));
    const plain = scoreAllowedToken(batchOf(logits, true), 0, { ...score, allowed: allowedOf([3, 9, 27, 81], [100]) });
    expect(fromFew.logprob).toBeCloseTo(plain.logprob, 10);
    expect(fromFew.top.map(({ id }) => id)).toEqual(plain.top.map(({ id }) => id));
    const only = scoreAllowedToken(batchOf(logits, false), 0, { tokenId: 4, alternatives: 2, allowed: listed([4]) });
    expect(only).toEqual({ logprob: 0, top: [{ id: 4, logprob: 0 }] });
    expect(logitsOfTokens(batchOf(logits, false), 0, [3])).toBeNull();
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
