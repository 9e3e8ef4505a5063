import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quantizeChannel } from './channel-linear.js';

const channels = fc
  .array(fc.float({ min: -100, max: 100, noNaN: true }), { minLength: 1, maxLength: 65 })
  .map((values) => Float32Array.from(values, (value) => (Math.abs(value) < 1e-30 ? 0 : value)));

describe('quantizeChannel', () => {
  it('stays within half a step of every weight', () => {
    fc.assert(
      fc.property(channels, (weights) => {
        const { codes, scale } = quantizeChannel(weights);
        weights.forEach((weight, index) => {
          expect(Math.abs((codes[index] ?? NaN) * scale - weight)).toBeLessThanOrEqual(scale * 0.5001);
        });
      }),
    );
  });

  it('has no two adjacent codes whose products with an input of 255 exceed 16 bits', () => {
    fc.assert(
      fc.property(channels, (weights) => {
        const { codes } = quantizeChannel(weights);
        for (let index = 0; index < codes.length; index += 2) {
          const pair = Math.abs(codes[index] ?? 0) + Math.abs(codes[index + 1] ?? 0);
          expect(255 * pair).toBeLessThanOrEqual(32_767);
        }
      }),
    );
    const { codes } = quantizeChannel(Float32Array.of(1, 1, -1, 0));
    expect([...codes]).toEqual([64, 64, -63, 0]);
  });

  it('gives a channel of zeros the scale zero', () => {
    expect(quantizeChannel(new Float32Array(3))).toEqual({ codes: new Int8Array(3), scale: 0 });
  });
});
