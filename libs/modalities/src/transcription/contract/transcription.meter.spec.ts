import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import { chargeLines } from '#model-registry/manifest';
import { maxAudioSeconds, quotedSeconds, quoteTranscription, transcriptionUnits } from './transcription.meter.js';

const pricing = { per_audio_second: { usd: 0.0001, diem: 0.0001 } };
const used = (audioSeconds: number) => ({ ...noTokens, units: { audioSeconds } });

describe('the price of a transcription', () => {
  it('is counted to the millisecond, and rounds half a nano up', () => {
    expect(chargeLines('whisper', transcriptionUnits(used(3.5)), pricing)).toEqual([
      { sku: 'whisper-asr-audio-second', units: '3.500', unitPriceNano: 100_000n, amountNano: 350_000n },
    ]);
    const odd = { per_audio_second: { usd: 0.000000015, diem: 0 } };
    expect(chargeLines('whisper', transcriptionUnits(used(0.1)), odd)[0]?.amountNano).toBe(2n);
  });

  it('is a line of zero for a job cancelled before any work, and no line for a free model', () => {
    expect(chargeLines('whisper', transcriptionUnits(used(0)), pricing)[0]).toMatchObject({
      units: '0.000',
      amountNano: 0n,
    });
    expect(chargeLines('whisper', transcriptionUnits(noTokens), pricing)[0]?.amountNano).toBe(0n);
    expect(chargeLines('whisper', transcriptionUnits(used(9)), null)).toEqual([]);
    expect(quoteTranscription(9, null)).toBe(0n);
  });

  it('never exceeds the quote for the same number of seconds', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: maxAudioSeconds, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (max, part) => {
          const [line] = chargeLines('m', transcriptionUnits(used(max * part)), pricing);
          expect(line?.amountNano).toBeLessThanOrEqual(quoteTranscription(max, pricing));
        },
      ),
    );
  });
});

describe('the quoted seconds', () => {
  it('follow the length, with a margin for rounding', () => {
    expect(quotedSeconds({ bytes: 1e6, durationSeconds: 60 })).toBe(62);
    expect(quotedSeconds({ bytes: 100, durationSeconds: 60 })).toBe(62);
  });

  it('are what the bytes can hold when the length is unknown, and four hours at most', () => {
    expect(quotedSeconds({ bytes: 50_000, durationSeconds: null })).toBe(402);
    expect(quotedSeconds({ bytes: 25e6, durationSeconds: null })).toBe(maxAudioSeconds);
    expect(quotedSeconds({ bytes: 1e9, durationSeconds: maxAudioSeconds })).toBe(maxAudioSeconds);
  });
});
