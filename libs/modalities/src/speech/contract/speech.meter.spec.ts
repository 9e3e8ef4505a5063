import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import { chargeLines } from '#model-registry/manifest';
import { quoteSpeech, speechUnits } from './speech.meter.js';

const pricing = { input: { usd: 15, diem: 15 } };

function charge(characters: number): bigint {
  const usage = { ...noTokens, units: { characters } };
  return chargeLines('m', speechUnits(usage), pricing).reduce((sum, { amountNano }) => sum + amountNano, 0n);
}

describe('the meter of speech', () => {
  it('bills characters by the million', () => {
    const usage = { ...noTokens, units: { characters: 120 } };
    expect(chargeLines('kokoro-82m', speechUnits(usage), pricing)).toEqual([
      {
        sku: 'kokoro-82m-tts-input-mcharacter',
        units: '0.000120',
        unitPriceNano: 15_000_000_000n,
        amountNano: 1_800_000n,
      },
    ]);
  });

  it('counts characters, not UTF-16 halves', () => {
    expect(quoteSpeech('🚀🚀', pricing)).toBe(quoteSpeech('ab', pricing));
  });

  it('treats zero as a count, and bills nothing for a free model', () => {
    expect(charge(0)).toBe(0n);
    expect(quoteSpeech('hello', null)).toBe(0n);
    expect(chargeLines('m', speechUnits({ ...noTokens, units: { characters: 5 } }), null)).toEqual([]);
  });

  it('never bills more than it quoted, for any part of the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.double({ min: 0, max: 1 }), (text, share) => {
        const said = Math.floor([...text].length * (Number.isNaN(share) ? 1 : share));
        expect(charge(said)).toBeLessThanOrEqual(quoteSpeech(text, pricing));
      }),
    );
  });
});
