import { describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import {
  additionalInputs,
  pictureChargeLines,
  type PicturePricing,
  quotePictures,
  unitOfPicture,
} from './image.meter.js';

const price = (usd: number) => ({ usd, diem: usd });
const pricing: PicturePricing = {
  generation: price(0.01),
  inpaint: price(0.02),
  resolutions: { '1K': price(0.03), '2K': price(0.05) },
  quality: { '1K': { low: price(0.1), high: price(0.4) } },
  upscale: { '2x': price(0.002), '4x': price(0.004) },
  inputImages: { included: 1, additional: price(0.007) },
};
const nano = (usd: number) => BigInt(Math.round(usd * 1e9));

describe('what a picture costs', () => {
  it.each([
    ['by quality where the list has it', { resolution: '1K', quality: 'high' }, 'quality.1K.high'],
    ['by resolution where that quality has no price', { resolution: '1K', quality: 'medium' }, 'resolutions.1K'],
    ['by resolution where the model takes no quality', { resolution: '2K', quality: null }, 'resolutions.2K'],
    ['flat where the resolution has no price', { resolution: '4K', quality: 'high' }, 'generation'],
    ['flat where none is named', { resolution: null, quality: null }, 'generation'],
  ])('is found %s', (_, wish, unit) => {
    expect(unitOfPicture(pricing, { flat: 'generation', ...wish })).toBe(unit);
  });

  it('counts the pictures beyond those that an edit includes', () => {
    expect(additionalInputs(pricing, 1)).toEqual({});
    expect(additionalInputs(pricing, 3)).toEqual({ 'inputImages.additional': 2 });
    expect(additionalInputs({ inpaint: price(1) }, 3)).toEqual({});
  });

  it('is charged as it was quoted, line by line', () => {
    const units = { 'quality.1K.high': 3, 'inputImages.additional': 2, 'prompt-enhancement': 1 };
    expect(quotePictures(units, pricing)).toBe(nano(3 * 0.4 + 2 * 0.007 + 0.04));
    const lines = pictureChargeLines('painter', { ...noTokens, units }, pricing);
    expect(lines.map(({ sku, units: count, amountNano }) => [sku, Number(count), amountNano])).toEqual([
      ['painter-image-quality-1k-high', 3, nano(1.2)],
      ['painter-image-inputimages-additional', 2, nano(0.014)],
      ['painter-image-prompt-enhancement', 1, nano(0.04)],
    ]);
  });

  it('is nothing for no picture, for a free model, and for what has no price', () => {
    expect(pictureChargeLines('m', { ...noTokens, units: {} }, pricing)).toEqual([]);
    expect(pictureChargeLines('m', { ...noTokens, units: { 'upscale.2x': 0 } }, pricing)).toEqual([]);
    expect(pictureChargeLines('m', noTokens, pricing)).toEqual([]);
    expect(quotePictures({ 'upscale.2x': 1 }, null)).toBe(0n);
    expect(quotePictures({ 'upscale.8x': 1, 'constructor.name': 1 }, pricing)).toBe(0n);
  });
});
