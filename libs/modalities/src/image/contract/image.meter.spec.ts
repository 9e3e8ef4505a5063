import { describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import { chargeLines, type Pricing } from '#model-registry/manifest';
import { additionalInputs, imageUnits, quoteImages, unitOfImage } from './image.meter.js';

const price = (usd: number) => ({ usd, diem: usd });
const pricing: Pricing = {
  generation: price(0.01),
  inpaint: price(0.02),
  resolutions: { '1K': price(0.03), '2K': price(0.05) },
  quality: { '1K': { low: price(0.1), high: price(0.4) } },
  upscale: { '2x': price(0.002), '4x': price(0.004) },
  inputImages: { included: 1, additional: price(0.007) },
};
const nano = (usd: number) => BigInt(Math.round(usd * 1e9));

describe('the price of an image', () => {
  it.each([
    ['by quality, where the list has it', { resolution: '1K', quality: 'high' }, 'quality.1K.high'],
    ['by resolution, where that quality has no price', { resolution: '1K', quality: 'medium' }, 'resolutions.1K'],
    ['by resolution, where the model takes no quality', { resolution: '2K', quality: null }, 'resolutions.2K'],
    ['flat, where the resolution has no price', { resolution: '4K', quality: 'high' }, 'generation'],
    ['by resolution, where none is named: the default', { resolution: null, quality: null }, 'resolutions.1K'],
    ['by quality, where no resolution is named', { resolution: null, quality: 'high' }, 'quality.1K.high'],
  ])('is found %s', (_, options, unit) => {
    expect(unitOfImage(pricing, { flat: 'generation', ...options })).toBe(unit);
  });

  it('is never zero because a list leaves it out', () => {
    const byQuality: Pricing = { quality: { '1K': { high: price(0.4) }, '1.5K': { low: price(0.6) } } };
    const options = { flat: 'generation', resolution: null, quality: 'high' } as const;
    expect(unitOfImage(byQuality, options)).toBe('quality.1K.high');
    expect(quoteImages({ 'quality.1K.high': 2 }, byQuality)).toBe(nano(0.8));
    expect(unitOfImage(byQuality, { ...options, resolution: '1.5K', quality: 'low' })).toBe('quality.1.5K.low');
    expect(quoteImages({ 'quality.1.5K.low': 1 }, byQuality)).toBe(nano(0.6));
    const unpriced = expect.objectContaining({ code: 'SERVICE_UNAVAILABLE', retry: 'never' }) as Error;
    expect(() => unitOfImage(byQuality, { ...options, resolution: '2K' })).toThrow(unpriced);
    expect(() => quoteImages({ generation: 1 }, byQuality)).toThrow(unpriced);
    for (const unit of ['upscale.8x', 'constructor.name']) {
      expect(() => quoteImages({ [unit]: 1 }, pricing)).toThrow(unpriced);
    }
    expect(unitOfImage(null, options)).toBe('generation');
  });

  it('counts the images beyond those that an edit includes', () => {
    expect(additionalInputs(pricing, 1)).toEqual({});
    expect(additionalInputs(pricing, 3)).toEqual({ 'inputImages.additional': 2 });
    expect(additionalInputs({ inpaint: price(1) }, 3)).toEqual({});
  });

  it('is charged as it was quoted, line by line', () => {
    const units = { 'quality.1K.high': 3, 'inputImages.additional': 2, 'prompt-enhancement': 1 };
    expect(quoteImages(units, pricing)).toBe(nano(3 * 0.4 + 2 * 0.007 + 0.04));
    const lines = chargeLines('painter', imageUnits({ ...noTokens, units }), pricing);
    expect(lines.map(({ sku, units: count, amountNano }) => [sku, Number(count), amountNano])).toEqual([
      ['painter-image-quality-1k-high', 3, nano(1.2)],
      ['painter-image-inputimages-additional', 2, nano(0.014)],
      ['painter-image-prompt-enhancement', 1, nano(0.04)],
    ]);
  });

  it('is zero without an image and for a free model', () => {
    expect(chargeLines('m', imageUnits({ ...noTokens, units: {} }), pricing)).toEqual([]);
    expect(chargeLines('m', imageUnits({ ...noTokens, units: { 'upscale.2x': 0 } }), pricing)).toEqual([]);
    expect(chargeLines('m', imageUnits(noTokens), pricing)).toEqual([]);
    expect(quoteImages({ 'upscale.2x': 1 }, null)).toBe(0n);
  });
});
