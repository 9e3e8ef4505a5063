import { describe, expect, it } from 'vitest';
import { reference, referenceAudio } from './__fixtures__/reference.js';
import { NormalizedLogMel } from './log-mel.js';

describe('the normalized log-mel features', () => {
  const samples = referenceAudio(8).subarray(0, 3 * 16_000 + 37);
  const { data, frames, length } = new NormalizedLogMel(128).compute(samples);

  it('equal those of the reference, frame by frame', () => {
    expect({ frames, length }).toEqual({ frames: reference.features.columns, length: reference.features.length });
    for (const [index, frame] of reference.features.frames.entries()) {
      for (const [band, value] of (reference.features.values[index] ?? []).entries()) {
        expect(Math.abs((data[band * frames + frame] ?? NaN) - value)).toBeLessThan(1e-4);
      }
    }
  });

  it('have mean 0 and deviation 1 in each band, and no audio in the last column', () => {
    for (let band = 0; band < 128; band++) {
      const values = data.subarray(band * frames, band * frames + length);
      const mean = values.reduce((sum, value) => sum + value, 0) / length;
      const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
      expect(mean).toBeCloseTo(0, 4);
      expect(Math.sqrt(squares / (length - 1))).toBeCloseTo(1, 3);
      expect(data[band * frames + length]).toBe(0);
    }
  });
});
