import { describe, expect, it } from 'vitest';
import { Random } from '../sampling/random.js';
import { FourierTransform } from './fourier.js';

describe('the transform', () => {
  it.each([1, 2, 4, 5, 8, 16, 20, 100, 400, 512])('of length %i equals its definition', (length) => {
    const random = new Random(length);
    const real = Float64Array.from({ length }, () => random.nextUnit() - 0.5);
    const imaginary = Float64Array.from({ length }, () => random.nextUnit() - 0.5);
    const [transformedReal, transformedImaginary] = [real.slice(), imaginary.slice()];
    new FourierTransform(length).transform(transformedReal, transformedImaginary);
    for (let bin = 0; bin < length; bin++) {
      let [sumReal, sumImaginary] = [0, 0];
      for (let index = 0; index < length; index++) {
        const angle = (-2 * Math.PI * bin * index) / length;
        const [r, i] = [real[index] ?? 0, imaginary[index] ?? 0];
        sumReal += r * Math.cos(angle) - i * Math.sin(angle);
        sumImaginary += r * Math.sin(angle) + i * Math.cos(angle);
      }
      expect(transformedReal[bin]).toBeCloseTo(sumReal, 9);
      expect(transformedImaginary[bin]).toBeCloseTo(sumImaginary, 9);
    }
  });

  it('rejects other lengths', () => {
    expect(() => new FourierTransform(6)).toThrow(RangeError);
  });
});
