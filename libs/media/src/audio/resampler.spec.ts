import { describe, expect, it } from 'vitest';
import { Resampler } from './resampler.js';

function tone(seconds: number, { rate, hz }: { rate: number; hz: number }): Float32Array {
  return Float32Array.from({ length: Math.round(seconds * rate) }, (_, index) =>
    Math.sin((2 * Math.PI * hz * index) / rate),
  );
}

function resample(input: Float32Array, rates: { from: number; to: number }, partLength = input.length): Float32Array {
  const resampler = new Resampler(rates);
  const parts: Float32Array[] = [];
  for (let offset = 0; offset < input.length; offset += partLength) {
    parts.push(resampler.push(input.subarray(offset, offset + partLength)));
  }
  parts.push(resampler.flush());
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

/** Returns the largest difference from the ideal tone, away from the ends. */
function errorAgainst(output: Float32Array, { rate, hz }: { rate: number; hz: number }): number {
  const ideal = tone(output.length / rate, { rate, hz });
  let worst = 0;
  for (let index = 200; index < output.length - 200; index += 1) {
    worst = Math.max(worst, Math.abs((output[index] ?? 0) - (ideal[index] ?? 0)));
  }
  return worst;
}

const rates: [from: number, to: number][] = [
  [44_100, 16_000],
  [48_000, 16_000],
  [22_050, 16_000],
  [11_025, 16_000],
  [8_000, 16_000],
  [24_000, 48_000],
  [44_100, 48_000],
  [96_000, 16_000],
];

describe('Resampler', () => {
  it.each(rates)('preserves a tone from %i to %i within -80 dB, in phase', (from, to) => {
    for (const hz of [100, 1_000, 3_000]) {
      const output = resample(tone(0.5, { rate: from, hz }), { from, to });
      expect(errorAgainst(output, { rate: to, hz })).toBeLessThan(1e-4);
    }
  });

  it.each(rates)('converts from %i to %i with as many samples as the duration requires', (from, to) => {
    for (const samples of [1, 2, 999, from]) {
      expect(resample(new Float32Array(samples), { from, to })).toHaveLength(Math.ceil((samples * to) / from));
    }
  });

  it('suppresses frequencies that the lower rate cannot represent', () => {
    const output = resample(tone(0.5, { rate: 44_100, hz: 12_000 }), { from: 44_100, to: 16_000 });
    expect(Math.max(...output.subarray(200, -200).map(Math.abs))).toBeLessThan(1e-4);
  });

  it('gives the same result for any part sizes', () => {
    const input = tone(0.3, { rate: 44_100, hz: 777 });
    const whole = resample(input, { from: 44_100, to: 16_000 });
    for (const partLength of [1, 7, 441, 4_096]) {
      expect(resample(input, { from: 44_100, to: 16_000 }, partLength)).toEqual(whole);
    }
  });

  it('preserves a constant level', () => {
    const output = resample(new Float32Array(4_410).fill(0.5), { from: 44_100, to: 16_000 });
    for (const sample of output.subarray(100, -100)) expect(sample).toBeCloseTo(0.5, 4);
  });

  it('converts between coprime rates', () => {
    const output = resample(tone(0.2, { rate: 44_101, hz: 1_000 }), { from: 44_101, to: 16_000 });
    expect(errorAgainst(output, { rate: 16_000, hz: 1_000 })).toBeLessThan(1e-3);
  });

  it('passes samples through if the rates are equal', () => {
    const input = tone(0.01, { rate: 16_000, hz: 100 });
    expect(new Resampler({ from: 16_000, to: 16_000 }).push(input)).toBe(input);
  });
});
