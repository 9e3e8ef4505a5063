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
