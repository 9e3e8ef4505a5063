import { describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import { chargeLines, type Pricing } from '#model-registry/manifest';
import { type AudioSize, audioUnits, quoteAudio, unitsOfAudio } from './audio.meter.js';

const price = (usd: number) => ({ usd, diem: usd });
const tier = (usd: number, min_seconds: number, max_seconds: number) => ({ ...price(usd), min_seconds, max_seconds });
const size = (options: Partial<AudioSize>): AudioSize => ({ characters: null, seconds: null, ...options });

describe('queued audio', () => {
  it.each<[string, Pricing, Partial<AudioSize>, bigint]>([
    ['its characters, per million', { input: price(1) }, { characters: 2_000 }, 2_000_000n],
    ['its characters, per thousand', { per_thousand_characters: price(0.3) }, { characters: 1_500 }, 450_000_000n],
    ['its seconds', { per_second: price(0.01) }, { seconds: 30 }, 300_000_000n],
    ['one price', { generation: price(0.5) }, {}, 500_000_000n],
    ['its tier', { durations: { short: tier(1, 1, 30), long: tier(2, 31, 90) } }, { seconds: 31 }, 2_000_000_000n],
  ])('costs %s, and is billed what was quoted', (_what, pricing, options, amount) => {
    const units = unitsOfAudio(pricing, size(options));
    if (typeof units === 'string') throw new Error(units);
    expect(quoteAudio(units, pricing)).toBe(amount);
    const [line] = chargeLines('m', audioUnits({ ...noTokens, units }), pricing);
    expect(line?.amountNano).toBe(amount);
    expect(line?.sku).toMatch(/^m-/);
  });

  it('names the missing figure, and rejects a length that no tier covers', () => {
    expect(unitsOfAudio({ input: price(1) }, size({ seconds: 3 }))).toBe('character_count');
    expect(unitsOfAudio({ per_second: price(1) }, size({ characters: 3 }))).toBe('duration_seconds');
    expect(unitsOfAudio({ durations: { short: tier(1, 1, 30) } }, size({ seconds: 31 }))).toBe('duration_seconds');
  });

  it('is free without a price, and costs nothing without a result', () => {
    expect(unitsOfAudio(null, size({}))).toEqual({});
    expect(quoteAudio({ input: 5 }, null)).toBe(0n);
    expect(chargeLines('m', audioUnits(noTokens), { generation: price(1) })).toEqual([]);
    expect(quoteAudio({ 'durations.constructor': 1 }, { durations: {} })).toBe(0n);
  });

  it('counts units as the SKU names them', () => {
    const [line] = chargeLines('m', audioUnits({ ...noTokens, units: { input: 2_500 } }), { input: price(1) });
    expect(line).toMatchObject({ sku: 'm-tts-input-mcharacter', units: '0.002500' });
  });
});
