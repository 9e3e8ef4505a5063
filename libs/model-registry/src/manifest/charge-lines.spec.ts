import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costPerMillion } from '#common';
import { type BillableUnit, chargeLines, quoteUnits } from './charge-lines.js';
import { priceAt, type Pricing } from './pricing.js';

const price = (usd: number) => ({ usd, diem: usd });
const unit = (part: Partial<BillableUnit>): BillableUnit => ({
  sku: 'sold',
  price: 'input',
  measure: 'million',
  count: 1,
  ...part,
});

describe('chargeLines', () => {
  it.each<[BillableUnit['measure'], number, string, bigint]>([
    ['million', 1_234_567, '1.234567', 1_851_851n],
    ['thousand', 1_500, '1.500000', 2_250_000n],
    ['second', 3_500, '3.500', 5_250_000n],
    ['piece', 3, '3.000000', 4_500_000n],
  ])('counts by the %s and rounds the amount half up to the nano', (measure, count, units, amountNano) => {
    const lines = chargeLines('m', [unit({ measure, count })], { input: price(0.0015) });
    expect(lines).toEqual([{ sku: 'm-sold', units, unitPriceNano: 1_500_000n, amountNano }]);
  });

  it('leaves out units without a price and keeps units of which nothing was used', () => {
    const units = [unit({ count: 0 }), unit({ price: 'output' })];
    expect(chargeLines('m', units, { input: price(1) })).toMatchObject([{ units: '0.000000', amountNano: 0n }]);
    expect(chargeLines('m', units, null)).toEqual([]);
  });

  it('bills a price that does not depend on the model, also where the model is free', () => {
    expect(quoteUnits([unit({ price: price(0.04), measure: 'piece' })], null)).toBe(40_000_000n);
  });

  it('charges tokens and thousands of characters as a cost per million does', () => {
    const amounts = fc.integer({ min: 0, max: 10 ** 12 }).map((nanos) => nanos / 10 ** 9);
    fc.assert(
      fc.property(fc.nat(10 ** 9), amounts, (count, usd) => {
        const pricing = { input: price(usd) };
        const [line] = chargeLines('m', [unit({ count })], pricing);
        expect(line?.amountNano).toBe(costPerMillion(count, line?.unitPriceNano ?? -1n));
        const [thousands] = chargeLines('m', [unit({ count, measure: 'thousand' })], pricing);
        expect(thousands?.amountNano).toBe(costPerMillion(count, (thousands?.unitPriceNano ?? -1n) * 1_000n));
      }),
    );
  });
});

describe('priceAt', () => {
  const pricing: Pricing = {
    generation: price(1),
    resolutions: { '1.5K': price(2) },
    quality: { '1.5K': { high: price(3) } },
    inputImages: { included: 1, additional: price(4) },
    extended: { context_token_threshold: 9, input: price(5) },
  };

  it.each([
    ['generation', 1],
    ['resolutions.1.5K', 2],
    ['quality.1.5K.high', 3],
    ['inputImages.additional', 4],
    ['extended.input', 5],
  ])('finds %s', (path, usd) => expect(priceAt(pricing, path)?.usd).toBe(usd));

  it.each([
    'inpaint',
    'quality',
    'quality.1.5K',
    'resolutions.constructor',
    'inputImages.included',
    'constructor.name',
  ])('finds no price at %s', (path) => expect(priceAt(pricing, path)).toBe(null));
});
