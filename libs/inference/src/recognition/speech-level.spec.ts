import { describe, expect, it } from 'vitest';
import { raiseQuietSpeech } from './speech-level.js';

const second = 16_000;

/** A word of 0.4 s in the middle of silence; `level` is its root mean square. */
function word(level: number, seconds = 4): Float32Array {
  return new Float32Array(seconds * second).map((_, index) =>
    Math.abs(index - (seconds * second) / 2) < 0.2 * second ? level * Math.SQRT2 * Math.sin(index / 7) : 0,
  );
}

function peak(samples: Float32Array): number {
  return samples.reduce((max, sample) => Math.max(max, Math.abs(sample)), 0);
}

const decibels = (db: number) => 10 ** (db / 20);

describe('raiseQuietSpeech', () => {
  it('returns loud speech, silence and nothing as they are', () => {
    for (const samples of [word(0.25), new Float32Array(second), new Float32Array(0)]) {
      expect(raiseQuietSpeech(samples)).toBe(samples);
    }
  });

  it.each([-20, -35, -50, -60])('raises speech at %i dB to the same level, whatever silence is around it', (db) => {
    const quiet = word(decibels(db), 30);
    const before = quiet.slice();
    expect(peak(raiseQuietSpeech(quiet)) / peak(word(0.2))).toBeCloseTo(1, 1);
    expect(quiet).toEqual(before);
  });

  it('is not misled by a click or a constant offset', () => {
    const quiet = word(decibels(-50)).map((sample) => sample + 0.05);
    quiet[second] = 0.9;
    quiet[second + 1] = -0.9;
    const raised = raiseQuietSpeech(quiet);
    expect(peak(raised)).toBe(1);
    expect(peak(raised.subarray(1.5 * second)) / peak(word(0.2))).toBeCloseTo(1, 1);
  });

  it('has a largest gain, so that rounding does not become loud', () => {
    const rounding = new Float32Array(second).map((_, index) => (index % 2) / 65_536);
    expect(peak(raiseQuietSpeech(rounding))).toBeLessThan(0.01);
  });
});
