import { describe, expect, it } from 'vitest';
import { LogMelSpectrogram } from './log-mel.js';
import { melFilters } from '../../recognition/mel-filters.js';
import { linear, parts } from './__fixtures__/parts.js';

/** Audio of the reference script: a rising tone with a little noise. */
function audio(): Float32Array {
  const noise = linear(7);
  return Float32Array.from({ length: 24_000 }, (_, index) => {
    const t = index / 16_000;
    return 0.4 * Math.sin(2 * Math.PI * (200 * t + 600 * t * t)) + 0.05 * (noise() - 0.5);
  });
}

describe('mel filters', () => {
  it('match the positions and weights of the reference for 128 bands', () => {
    const filters = melFilters({ count: 128, transformLength: 400, sampleRate: 16_000 });
    for (const [index, { first, weights }] of filters.entries()) {
      const sum = weights.reduce((total, weight) => total + weight, 0);
      const centre = weights.reduce((total, weight, offset) => total + weight * (first + offset), 0) / sum;
      expect(sum).toBeCloseTo(parts.mel.filters128.sums[index] ?? 0, 6);
      expect(centre).toBeCloseTo(parts.mel.filters128.centres[index] ?? 0, 3);
    }
  });
});

describe('the log-mel spectrogram', () => {
  const frames = 3_000;
  const mel = new LogMelSpectrogram(80).compute(audio(), frames);

  it.each(['transformers', 'whisper'] as const)('equals %s, frame by frame, silence included', (reference) => {
    for (const [index, frame] of parts.mel.frames.entries()) {
      const expected = parts.mel[reference][index] ?? [];
      for (const [band, value] of expected.entries()) {
        // The references compute in single precision, which shows in the fourth digit of quiet values.
        expect(Math.abs((mel[band * frames + frame] ?? 0) - value)).toBeLessThan(2e-4);
      }
    }
  });

  it('is the same with implicit and with explicit silence', () => {
    const padded = new Float32Array(frames * 160);
    padded.set(audio());
    expect(new LogMelSpectrogram(80).compute(padded, frames)).toEqual(mel);
  });
});
