import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SamplingOptions } from '../contract/text-generation.js';
import type { LogitsBatch } from './logits-batch.js';
import { undecided } from './narrow-draw.js';
import { Random } from './random.js';
import { referenceDistribution, referenceDraw } from './reference-sampler.js';
import { TokenSampler } from './token-sampler.js';

const none = new Int32Array(0);

/** Row as returned by a graph; `all` false is a step without full logits. */
function batchOf(logits: Float32Array, options: { topSize?: number; all?: boolean } = {}): LogitsBatch {
  const { topSize = 0, all = true } = options;
  const order = Array.from(logits.keys()).sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b);
  const top = order.slice(0, topSize);
  const best = Math.max(...logits);
  const sum = logits.reduce((total, value) => total + Math.exp(value - best), 0);
  return {
    rowIndexes: Int32Array.of(0),
    topValues: topSize > 0 ? Float32Array.from(top, (id) => logits[id] ?? 0) : null,
    topIds: topSize > 0 ? Int32Array.from(top) : null,
    topSize,
    logSumExp: Float32Array.of(best + Math.log(sum)),
    logits: all ? Float32Array.from(logits) : null,
    vocabularySize: logits.length,
  };
}

/** In eighths, so that no two differ by a rounding error. */
const logitsArbitrary = (minLength: number, maxLength: number): fc.Arbitrary<Float32Array> =>
  fc
    .array(fc.integer({ min: -96, max: 96 }), { minLength, maxLength })
    .map((eighths) => Float32Array.from(eighths, (value) => value / 8));

const settingsOf = {
  temperature: fc.double({ min: 0.1, max: 3, noNaN: true }),
  topK: fc.constantFrom(0, 0, 1, 5, 40, 90),
  topP: fc.constantFrom(1, 1, 0.983, 0.877, 0.513, 0),
  minP: fc.constantFrom(0, 0, 0.0513, 0.477, 1),
  seed: fc.integer({ min: 0, max: 1_000_000 }),
};
const settingsArbitrary = fc.record(settingsOf);

describe('TokenSampler', () => {
  it('accepts a repetition penalty of 0, which cannot be divided by', () => {
    const logits = Float32Array.of(1, 2, 0.5, -1, -Infinity);
    for (const temperature of [0, 1]) {
      const sampler = new TokenSampler({ temperature, repetitionPenalty: 0, seed: 1 }, Int32Array.of(2, 4));
      expect(sampler.sample(batchOf(logits), 0)).toBe(2);
    }
  });

  const biasesArbitrary = fc.dictionary(
    fc.integer({ min: 0, max: 70 }).map(String),
    fc.integer({ min: -800, max: 800 }).map((eighths) => eighths / 8),
    { maxKeys: 8 },
  );

  it('draws with biases as from logits that have them, whatever the graph returns first, and leaves the logits alone', () => {
    const settings = fc.record({ ...settingsOf, frequencyPenalty: fc.constantFrom(0, 0, 1.5) });
    fc.assert(
      fc.property(logitsArbitrary(1, 60), settings, biasesArbitrary, (logits, sampling, logitBias) => {
        const biased = logits.map((value, id) => value + (logitBias[id] ?? 0));
        const expected = new TokenSampler(sampling, none).sample(batchOf(biased), 0);
        const sampler = new TokenSampler({ ...sampling, logitBias }, none);
        const top = batchOf(logits, { topSize: 8, all: false });
        const isChanged = Object.values(logitBias).some((bias) => bias !== 0);
        if (isChanged)
          expect([sampler.fullChance({ topSize: 8, hasLogSumExp: true }), sampler.sample(top, 0)]).toEqual([
            1,
            undecided,
          ]);
        const all = batchOf(logits, { topSize: 8 });
        expect(sampler.sample(all, 0)).toBe(expected);
        expect(all.logits).toEqual(logits);
      }),
      { numRuns: 500 },
    );
  });

  it('adds biases before the repetition penalty, which depends on the sign', () => {
    const sampling = { temperature: 0, repetitionPenalty: 2, logitBias: { 0: -1 } };
    // Token 0: (1.5 − 1) / 2 = 0.25, and not 1.5 / 2 − 1.
    const sampler = new TokenSampler(sampling, Int32Array.of(0));
    expect(sampler.sample(batchOf(Float32Array.of(1.5, 0.2)), 0)).toBe(0);
  });

  it.each([null, [1, 3]])(
    'chooses by biases among the tokens of a constraint, of which one stays possible: %j',
    (few) => {
      const bits = Uint32Array.of(0b1010);
      const constraint = {
        allowed: () => ({ bits, endings: [], few }),
        accept: () => undefined,
        isFinished: () => false,
      };
      const logits = Float32Array.of(9, 5, 9, 1);
      const ask = (logitBias: Record<string, number>) =>
        new TokenSampler({ temperature: 0, logitBias }, none, constraint).sample(batchOf(logits), 0);
      expect([ask({}), ask({ 1: -100 }), ask({ 1: -100, 3: -100 }), ask({ 0: 100 })]).toEqual([1, 3, 1, 1]);
    },
  );

  it("draws the reference's token for the same uniform number", () => {
    fc.assert(
      fc.property(logitsArbitrary(1, 60), settingsArbitrary, (logits, settings) => {
        const drawn = new TokenSampler(settings, none).sample(batchOf(logits), 0);
        const unit = new Random(settings.seed).nextUnit();
        expect(drawn).toBe(referenceDraw(referenceDistribution(logits, settings), unit));
      }),
      { numRuns: 500 },
    );
  });

  it('never draws outside the settings, however large the vocabulary', () => {
    fc.assert(
      fc.property(logitsArbitrary(65, 400), settingsArbitrary, (logits, settings) => {
        const drawn = new TokenSampler(settings, none).sample(batchOf(logits), 0);
        const allowed = referenceDistribution(logits, settings);
        // Rounding may move a border by one token of the same weight.
        const border = allowed.at(-1)?.probability ?? 0;
        const share = allowed.find(({ id }) => id === drawn)?.probability;
        if (share === undefined) {
          const best = Math.max(...logits);
          const weight = Math.exp(((logits[drawn] ?? 0) - best) / settings.temperature);
          expect(weight).toBeGreaterThanOrEqual((border / (allowed[0]?.probability ?? 1)) * 0.999);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('decides the same from the top candidates as from all logits, or not at all', () => {
    let decided = 0;
    fc.assert(
      fc.property(logitsArbitrary(20, 200), settingsArbitrary, (logits, settings) => {
        const fromFew = new TokenSampler(settings, none).sample(batchOf(logits, { topSize: 16, all: false }), 0);
        const fromAll = new TokenSampler(settings, none).sample(batchOf(logits), 0);
        if (fromFew !== undecided) expect(fromFew).toBe(fromAll);
        if (fromFew !== undecided) decided++;
      }),
      { numRuns: 500 },
    );
    expect(decided).toBeGreaterThan(50);
  });

  it('keeps the draw of a token that had to wait for all logits', () => {
    const flat = new Float32Array(500);
    const sampling = { temperature: 1, seed: 11 };
    const patient = new TokenSampler(sampling, none);
    expect(patient.sample(batchOf(flat, { topSize: 16, all: false }), 0)).toBe(undecided);
    expect(patient.sample(batchOf(flat, { topSize: 16 }), 0)).toBe(
      new TokenSampler(sampling, none).sample(batchOf(flat), 0),
    );
  });

  it('draws flat and long distributions in their proportions', () => {
    const logits = Float32Array.from({ length: 300 }, (_, id) => (id % 3 === 0 ? Math.log(2) : 0));
    const sampler = new TokenSampler({ temperature: 1, seed: 5 }, none);
    const counts = [0, 0, 0];
    for (let draw = 0; draw < 6000; draw++) {
      const residue = sampler.sample(batchOf(logits), 0) % 3;
      counts[residue] = (counts[residue] ?? 0) + 1;
    }
    expect(counts[0]).toBeGreaterThan(2850);
    expect(counts[0]).toBeLessThan(3150);
    expect(counts[1]).toBeGreaterThan(1350);
    expect(counts[1]).toBeLessThan(1650);
  });

  it('cuts a nucleus of hundreds exactly as in a sorted vocabulary', () => {
    const logits = Float32Array.from({ length: 1000 }, (_, id) => -((id * 617) % 1000) / 400);
    const settings = { temperature: 1, topK: 0, topP: 0.6, minP: 0 };
    const allowed = new Set(referenceDistribution(logits, settings).map(({ id }) => id));
    const drawn = new Set<number>();
    for (let seed = 0; seed < 3000; seed++) {
      drawn.add(new TokenSampler({ ...settings, seed }, none).sample(batchOf(logits), 0));
    }
    expect(allowed.size).toBeGreaterThan(100);
    expect([...drawn].filter((id) => !allowed.has(id))).toEqual([]);
    expect(drawn.size).toBeGreaterThan(allowed.size * 0.9);
  });

  it('takes the lowest id of equal best logits when greedy, from the top candidates and from all', () => {
    const logits = Float32Array.of(1, 5, 2, 5, 5);
    const sampler = new TokenSampler({ temperature: 0 }, none);
    expect(sampler.sample(batchOf(logits), 0)).toBe(1);
    expect(sampler.sample(batchOf(logits, { topSize: 3, all: false }), 0)).toBe(1);
  });

  it('repeats its tokens for the same seed and differs for another', () => {
    const logits = Float32Array.from({ length: 50 }, (_, id) => Math.sin(id));
    const texts = [7, 7, 8].map((seed) => {
      const sampler = new TokenSampler({ seed }, none);
      return Array.from({ length: 20 }, () => sampler.sample(batchOf(logits), 0)).join();
    });
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]).not.toBe(texts[2]);
  });

  it('lowers tokens by count, presence and repetition, and restores the logits', () => {
    const cases: [SamplingOptions, number][] = [
      [{ frequencyPenalty: 0.6 }, 1],
      [{ presencePenalty: 1.1 }, 1],
      [{ repetitionPenalty: 1.6 }, 1],
      [{ frequencyPenalty: -2, repetitionPenalty: 1 }, 0],
    ];
    for (const [penalties, expected] of cases) {
      const sampler = new TokenSampler({ temperature: 0, ...penalties }, none);
      sampler.accept(0);
      sampler.accept(0);
      const batch = batchOf(Float32Array.of(3, 2, -1));
      expect(sampler.sample(batch, 0)).toBe(expected);
      expect(Array.from(batch.logits ?? [])).toEqual([3, 2, -1]);
    }
  });

  it('counts the prompt only for the repetition penalty', () => {
    const prompt = Int32Array.of(0);
    const logits = Float32Array.of(3, 2.5);
    const sample = (sampling: SamplingOptions): number =>
      new TokenSampler({ temperature: 0, ...sampling }, prompt).sample(batchOf(logits), 0);
    expect(sample({ repetitionPenalty: 1.3 })).toBe(1);
    expect(sample({ frequencyPenalty: 2, presencePenalty: 2 })).toBe(0);
  });

  it('uses the minimum temperature for a certain model and the maximum for an uncertain one', () => {
    const sure = Float32Array.from({ length: 100 }, (_, id) => (id === 3 ? 60 : 0));
    const cold = new TokenSampler({ minTemperature: 0, maxTemperature: 50, seed: 1 }, none);
    expect(Array.from({ length: 50 }, () => cold.sample(batchOf(sure), 0))).toEqual(new Array(50).fill(3));
    const unsure = Float32Array.from({ length: 100 }, (_, id) => id * 1e-3);
    const warm = new TokenSampler({ minTemperature: 1e-6, maxTemperature: 50, seed: 1 }, none);
    expect(new Set(Array.from({ length: 200 }, () => warm.sample(batchOf(unsure), 0))).size).toBeGreaterThan(50);
  });

  it('requests all logits only if the settings need them', () => {
    const given = { topSize: 64, hasLogSumExp: true };
    const chance = (sampling: SamplingOptions): number => new TokenSampler(sampling, none).fullChance(given);
    expect(chance({ temperature: 0 })).toBe(0);
    expect(chance({ topK: 64 })).toBe(0);
    expect(chance({ topK: 65 })).toBe(1);
    expect(chance({ frequencyPenalty: 0.1 })).toBe(1);
    expect(chance({ repetitionPenalty: 1.1, temperature: 0 })).toBe(1);
    expect(chance({ minTemperature: 0.1, maxTemperature: 1 })).toBe(1);
    expect(new TokenSampler({ topP: 0.9 }, none).fullChance({ topSize: 64, hasLogSumExp: false })).toBe(1);
  });

  it('learns that a flat distribution is rarely decided by the top candidates', () => {
    const flat = new Float32Array(1000);
    const sampler = new TokenSampler({ topP: 0.9, seed: 3 }, none);
    const given = { topSize: 16, hasLogSumExp: true };
    expect(sampler.fullChance(given)).toBe(0);
    for (let draw = 0; draw < 10; draw++) sampler.sample(batchOf(flat, { topSize: 16 }), 0);
    expect(sampler.fullChance(given)).toBeGreaterThan(0.5);
  });

  it('rejects logits that are not finite', () => {
    const broken = Float32Array.of(NaN, NaN);
    for (const temperature of [0, 1]) {
      expect(() => new TokenSampler({ temperature }, none).sample(batchOf(broken), 0)).toThrow('not finite');
      const top = { ...batchOf(broken, { topSize: 1, all: false }), logSumExp: Float32Array.of(NaN) };
      expect(() => new TokenSampler({ temperature }, none).sample(top, 0)).toThrow('not finite');
    }
  });
});
