import { Random } from '../sampling/random.js';

/**
 * Draws standard normal noise from a seed (Box and Muller, 1958). The same seed gives the same image on every machine.
 */
export class NormalNoise {
  private readonly random: Random;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  draw(length: number): Float32Array {
    const values = new Float32Array(length);
    for (let index = 0; index < length; index += 2) {
      // Avoids the logarithm of zero.
      const radius = Math.sqrt(-2 * Math.log(1 - this.random.nextUnit()));
      const angle = 2 * Math.PI * this.random.nextUnit();
      values[index] = radius * Math.cos(angle);
      if (index + 1 < length) values[index + 1] = radius * Math.sin(angle);
    }
    return values;
  }
}

/** Noise of several images, each from its own seed: an image gets the same noise in any batch. */
export class BatchNoise {
  private readonly sources: readonly NormalNoise[];

  constructor(
    seeds: readonly number[],
    private readonly length: number,
  ) {
    this.sources = seeds.map((seed) => new NormalNoise(seed));
  }

  /** Draws the noise of all images, one after another. */
  draw(): Float32Array {
    const all = new Float32Array(this.sources.length * this.length);
    this.sources.forEach((source, index) => all.set(source.draw(this.length), index * this.length));
    return all;
  }
}
