import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chargeLines, type Pricing } from '#model-registry/manifest';
import { embeddingUnits, maxEmbeddingTokens, quoteEmbedding } from './embedding.meter.js';

const pricing: Pricing = { input: { usd: 0.02, diem: 0.02 }, output: { usd: 0, diem: 0 } };

describe('the price of embeddings', () => {
  it('is their tokens at the price per million, under a SKU that says so', () => {
    expect(chargeLines('m', embeddingUnits({ promptTokens: 1_234_567 }), pricing)).toEqual([
      { sku: 'm-embedding-input-mtoken', units: '1.234567', unitPriceNano: 20_000_000n, amountNano: 24_691_340n },
    ]);
  });

  it('is a line of zero for a cancelled job that computed nothing, and no line for a free model', () => {
    expect(chargeLines('m', embeddingUnits({ promptTokens: 0 }), pricing)).toMatchObject([{ amountNano: 0n }]);
    expect(chargeLines('m', embeddingUnits({ promptTokens: 5 }), null)).toEqual([]);
    expect(quoteEmbedding({ texts: ['x'] }, { maxInputTokens: 512, pricing: null })).toBe(0n);
  });

  it('is quoted by the bytes of each text, up to the longest text', () => {
    const limits = { maxInputTokens: 512, pricing };
    expect(maxEmbeddingTokens({ texts: ['a'.repeat(10), 'a'.repeat(10_000)] }, limits)).toBe(10 * 11 + 16 + 512);
    expect(maxEmbeddingTokens({ texts: [], tokenIds: [[1, 2], [3]] }, limits)).toBe(3);
  });

  it('never exceeds the quote, even where one character of three bytes becomes eighteen letters', () => {
    const limits = { maxInputTokens: 512, pricing };
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 });
    const anything = fc.oneof(text, fc.constant('\uFDFA'.repeat(20)));
    fc.assert(
      fc.property(fc.array(anything, { minLength: 1, maxLength: 20 }), (texts) => {
        // The worst possible tokenizer: one token per byte of the normalized text, and two around it.
        const tokens = texts.reduce(
          (sum, each) => sum + Math.min(512, Buffer.byteLength(each.normalize('NFKC')) + 2),
          0,
        );
        const [line] = chargeLines('m', embeddingUnits({ promptTokens: tokens }), pricing);
        expect(line?.amountNano).toBeLessThanOrEqual(quoteEmbedding({ texts }, limits));
      }),
    );
  });
});
