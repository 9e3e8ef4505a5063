import { describe, expect, it } from 'vitest';
import { priceLines } from './price-lines.js';

describe('the prices of a model', () => {
  it('are named by their place, at every depth', () => {
    const prices = {
      input: { usd: 0.1, diem: 0.1 },
      output: { usd: 0.0000002, diem: 0 },
      extended: { context_token_threshold: 200_000, input: { usd: '0.3', diem: '0.3' } },
    };
    expect(priceLines(prices, 'text')).toEqual([
      ['input', '$0.10 per 1M tokens'],
      ['output', '$0.0000002 per 1M tokens'],
      ['extended input', '$0.30 per 1M tokens'],
    ]);
  });

  it('name what they are for, unless their name does', () => {
    expect(priceLines({ upscale: { '2x': { usd: 1, diem: 1 } } }, 'upscale')).toEqual([
      ['upscale 2x', '$1.00 per image'],
    ]);
    expect(priceLines({ per_second: { usd: 1, diem: 1 } }, 'music')).toEqual([['per_second', '$1.00']]);
  });

  it('are none for a free model', () => {
    expect(priceLines({}, 'text')).toEqual([]);
  });
});
