import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import { chargeLines, type Pricing } from '#model-registry/manifest';
import { hasPrice, quoteVideo, unitsOfMaking, unitsOfUpscaling, videoUnits } from './video.meter.js';

const price = (usd: number) => ({ usd, diem: usd });
const pricing: Pricing = {
  per_second: price(0.01),
  resolutions: { '720p': price(0.02) },
  upscale: { '2x': price(0.03), '4x': price(0.06) },
};

describe('a generated video', () => {
  it('costs its seconds, at the price of its resolution where there is one', () => {
    const plain = unitsOfMaking(pricing, { seconds: 5, resolution: '480p' });
    expect(quoteVideo(plain, pricing)).toBe(50_000_000n);
    const large = unitsOfMaking(pricing, { seconds: 5, resolution: '720p' });
    expect(quoteVideo(large, pricing)).toBe(100_000_000n);
    expect(chargeLines('rife', videoUnits({ ...noTokens, units: large }), pricing)).toEqual([
      {
        sku: 'rife-video-resolutions-720p-second',
        units: '5.000',
        unitPriceNano: 20_000_000n,
        amountNano: 100_000_000n,
      },
    ]);
  });

  it('is named by plain seconds without a resolution', () => {
    const units = unitsOfMaking(pricing, { seconds: 1.5, resolution: null });
    expect(chargeLines('rife', videoUnits({ ...noTokens, units }), pricing)).toMatchObject([
      { sku: 'rife-video-second', units: '1.500', amountNano: 15_000_000n },
    ]);
  });
});

describe('an upscaled video', () => {
  it('costs its seconds at the price of the factor', () => {
    expect(quoteVideo(unitsOfUpscaling({ seconds: 10, factor: 4 }), pricing)).toBe(600_000_000n);
  });
});

describe('the bill', () => {
  it('equals the quote, for any length', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 300, noNaN: true }), fc.constantFrom(2, 4), (seconds, factor) => {
        const units = unitsOfUpscaling({ seconds, factor });
        const billed = chargeLines('m', videoUnits({ ...noTokens, units }), pricing).map(
          ({ amountNano }) => amountNano,
        );
        expect(billed.reduce((sum, amount) => sum + amount, 0n)).toBe(quoteVideo(units, pricing));
      }),
    );
  });

  it('is zero without a result, for a free model, and for what has no price', () => {
    expect(chargeLines('m', videoUnits(noTokens), pricing)).toEqual([]);
    expect(quoteVideo({ per_second: 5 }, null)).toBe(0n);
    expect(quoteVideo({ 'upscale.1x': 5, 'resolutions.constructor': 1 }, pricing)).toBe(0n);
  });

  it('has a price for everything that a priced model makes, and none for a free model', () => {
    expect(hasPrice(pricing, 'per_second')).toBe(true);
    expect(hasPrice(pricing, 'upscale.1x')).toBe(false);
    expect(hasPrice({ resolutions: { '720p': price(0.02) } }, 'per_second')).toBe(false);
    expect(hasPrice(pricing, 'resolutions.constructor')).toBe(false);
    for (const free of [null, {}, { upscale: {} }]) expect(hasPrice(free, 'per_second')).toBe(true);
  });
});
