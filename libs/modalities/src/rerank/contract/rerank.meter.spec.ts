import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chargeLines, type Pricing } from '#model-registry/manifest';
import { maxRerankTokens, quoteRerank, rerankUnits } from './rerank.meter.js';

const pricing: Pricing = { input: { usd: 0.02, diem: 0.02 }, output: { usd: 0, diem: 0 } };
const limits = { maxInputTokens: 512, pricing };

describe('the price of reranking', () => {
  it('is the tokens that were read at the price per million, under a SKU that says so', () => {
    expect(chargeLines('m', rerankUnits({ promptTokens: 1_234_567 }), pricing)).toEqual([
      { sku: 'm-rerank-input-mtoken', units: '1.234567', unitPriceNano: 20_000_000n, amountNano: 24_691_340n },
    ]);
  });

  it('is quoted by the bytes of query and document, up to the longest pair', () => {
    const query = 'a'.repeat(4);
    const documents = ['a'.repeat(10), 'a'.repeat(10_000)];
    expect(maxRerankTokens({ query, documents, maxTokensPerDocument: null }, limits)).toBe(14 * 11 + 16 + 512);
    expect(maxRerankTokens({ query, documents, maxTokensPerDocument: 5 }, limits)).toBe(2 * (4 * 11 + 16 + 5));
    const prompt = { template: '{instruction}{query}{document}', instruction: 'abc' };
    const texts = { query, documents: documents.slice(0, 1), maxTokensPerDocument: null };
    const large = { ...limits, maxInputTokens: 5_000, prompt };
    expect(maxRerankTokens(texts, large)).toBe((14 + 17 + 3) * 11 + 16);
    expect(maxRerankTokens({ ...texts, instruction: 'abcde' }, large)).toBe((14 + 17 + 5) * 11 + 16);
    const free = { maxInputTokens: 512, pricing: null };
    expect(quoteRerank({ query, documents, maxTokensPerDocument: null }, free)).toBe(0n);
  });

  it('never exceeds the quote, even where one character of three bytes becomes eighteen letters', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
    const anything = fc.oneof(text, fc.constant('\uFDFA'.repeat(20)));
    const bound = fc.option(fc.integer({ min: 1, max: 600 }), { nil: null });
    // The worst possible tokenizer: one token per byte of the normalized text, and three around a pair.
    const bytesOf = (value: string) => Buffer.byteLength(value.normalize('NFKC'));
    fc.assert(
      fc.property(anything, fc.array(anything, { minLength: 1, maxLength: 9 }), bound, (query, documents, cut) => {
        const tokens = documents.reduce((sum, each) => {
          return sum + Math.min(512, bytesOf(query) + 3 + Math.min(cut ?? Infinity, bytesOf(each)));
        }, 0);
        const [line] = chargeLines('m', rerankUnits({ promptTokens: tokens }), pricing);
        const quote = quoteRerank({ query, documents, maxTokensPerDocument: cut }, limits);
        expect(line?.amountNano).toBeLessThanOrEqual(quote);
      }),
    );
  });
});
