import { describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { cacheBytes, decoderMemory, type DecoderSize, peakBytes } from './decoder-memory.js';
import { keptStates } from './kept-states.js';

/** TinyLlama in 4 bits: 22 layers, 32 heads of 64, 4 of keys and values, 32,000 tokens. */
const tinyLlama: DecoderSize = {
  weightsBytes: 934e6,
  largestBytes: 65_536_000,
  heads: 32,
  vocabularySize: 32_000,
  cacheBytesPerToken: 2 * 22 * 4 * 64 * 4,
  windowCache: null,
  stateBytes: 0,
};

describe('the memory of a decoder', () => {
  it('is the sum of its terms', () => {
    const memory = decoderMemory(tinyLlama, { slots: 4, contextLength: 1_024, cacheTokens: 4_096 });
    expect(memory).toEqual({
      process: 128 * mebibyte + 32_000 * 900,
      weights: 934e6,
      loading: 65_536_000,
      cache: 45_056 * 4_096,
      states: 0,
      cacheCopies: (45_056 * 4_096) / 3,
      prefill: 4 * 32 * 64 * 1_088 * 4,
      logits: 4 * 4 * 32_000 * 4,
      image: 0,
    });
    const used = memory.cache + memory.cacheCopies + memory.prefill + memory.logits;
    expect(peakBytes(memory)).toBe(memory.process + memory.weights + used);
  });

  it('counts the weights of the part that reads images, and the largest image', () => {
    const use = { slots: 1, contextLength: 1_024, cacheTokens: 1_024 };
    const sizes = { hiddenSize: 1_024, feedForwardSize: 4_096, heads: 16, patches: 4_096 };
    const vision = { ...sizes, weightsBytes: 1.6e9, scoredPatches: 0 };
    const [without, memory] = [tinyLlama, { ...tinyLlama, vision }].map((size) => decoderMemory(size, use));
    expect(memory?.weights).toBe((without?.weights ?? 0) + 1.6e9);
    expect(memory?.image).toBeCloseTo(1.2 * 4 * 4_096 * (6 * 1_024 + 2 * 4_096), 3);
    const windowed = decoderMemory({ ...tinyLlama, vision: { ...vision, scoredPatches: 64 } }, use);
    expect(windowed.image - (memory?.image ?? 0)).toBeCloseTo(1.2 * 4 * 4_096 * 2 * 16 * 64, 3);
  });

  it('counts three states of each running request, and those that are kept for later prompts', () => {
    const use = { slots: 8, contextLength: 1_024, cacheTokens: 4_096 };
    // LFM2-1.2B: ten convolutions that keep two inputs of 2,048 channels.
    const lfm2 = decoderMemory({ ...tinyLlama, stateBytes: 10 * 2 * 2_048 * 4 }, use);
    expect(keptStates(163_840, 8)).toEqual({ total: 409, perRow: 16 });
    expect(lfm2.states).toBe(163_840 * (3 * 8 + 409));
    expect(peakBytes(lfm2) - peakBytes(decoderMemory(tinyLlama, use))).toBeCloseTo(lfm2.states, 3);
  });

  it.each([
    ['of no state', 0, { total: 0, perRow: 0 }],
    ['of small states', 1_000, { total: 1_024, perRow: 16 }],
    ['of large states, two for each request', 20 * mebibyte, { total: 16, perRow: 2 }],
  ])('keeps a bounded number %s', (_, stateBytes, kept) => {
    expect(keptStates(stateBytes, 8)).toEqual(kept);
  });

  it('is highest while the model loads, if little is kept afterwards', () => {
    const memory = decoderMemory(tinyLlama, { slots: 1, contextLength: 16, cacheTokens: 16 });
    expect(memory.cacheCopies).toBe(0);
    expect(peakBytes(memory)).toBe(memory.process + memory.weights + memory.loading);
  });

  it('counts no more tokens than all requests can have, and no more than the cache takes', () => {
    const tokensOf = (slots: number, contextLength: number, cacheTokens: number) =>
      decoderMemory(tinyLlama, { slots, contextLength, cacheTokens }).cache / tinyLlama.cacheBytesPerToken;
    expect([tokensOf(2, 100, 1_000), tokensOf(20, 100, 1_000)]).toEqual([200, 1_000]);
  });

  it('follows the window of the layers that have one', () => {
    const half = { cacheBytesPerToken: 100, windowCache: { size: 128, bytesPerToken: 100 } };
    const rows = { slots: 1, tokens: 1e6 };
    expect(cacheBytes(half, rows)).toBeGreaterThan(1e8);
    expect(cacheBytes(half, rows)).toBeLessThan(1.2e8);
  });
});
