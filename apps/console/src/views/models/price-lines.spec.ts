import { describe, expect, it } from 'vitest';
import { priceLines } from './price-lines.js';

describe('the prices of a model', () => {
  it('are named by their place, at every depth', () => {
    const prices = {
      input: { usd: 0.1, diem: 0.1 },
      output: { usd: 0.0000002, diem: 0 },
      extended: { context_token_threshold: 200_000, input: { usd: '0.3', diem: '0.3' } },
      upscale: { '2x': { usd: 1, diem: 1 } },
    };
    expect(priceLines(prices)).toEqual([
      ['input', '$0.10'],
      ['output', '$0.0000002'],
      ['extended input', '$0.30'],
      ['upscale 2x', '$1.00'],
    ]);
  });

  it('are none for a free model', () => {
    expect(priceLines({})).toEqual([]);
  });
});
