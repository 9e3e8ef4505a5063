import { FourierTransform } from './fourier.js';
import { melFilters, type MelFilter } from './mel-filters.js';

type Pair = readonly [Float64Array, Float64Array];

/** Computes the mel-weighted power of frames, two at a time: one complex transform takes two real frames. */
export class MelEnergies {
  /** The two windowed frames, which the caller fills before each run. A run overwrites them. */
  readonly frames: Pair;
  private readonly transform: FourierTransform;
  private readonly filters: MelFilter[];
  private readonly powers: Pair;
  private readonly energies: Pair;

  constructor(options: { bands: number; transformLength: number; sampleRate: number }) {
    const { bands, transformLength, sampleRate } = options;
    const bins = transformLength / 2 + 1;
    this.frames = [new Float64Array(transformLength), new Float64Array(transformLength)];
    this.powers = [new Float64Array(bins), new Float64Array(bins)];
    this.energies = [new Float64Array(bands), new Float64Array(bands)];
    this.transform = new FourierTransform(transformLength);
    this.filters = melFilters({ count: bands, transformLength, sampleRate });
  }

  /** Returns the energies of the two frames by band. The next run overwrites them. */
  run(): Pair {
    const [real, imaginary] = this.frames;
    this.transform.transform(real, imaginary);
    const [first, second] = this.powers;
    for (let bin = 0; bin < first.length; bin++) {
      const mirrored = bin === 0 ? 0 : real.length - bin;
      const [ar, ai] = [real[bin] as number, imaginary[bin] as number];
      const [br, bi] = [real[mirrored] as number, imaginary[mirrored] as number];
      first[bin] = ((ar + br) ** 2 + (ai - bi) ** 2) / 4;
      second[bin] = ((ai + bi) ** 2 + (br - ar) ** 2) / 4;
    }
    this.weigh(first, this.energies[0]);
    this.weigh(second, this.energies[1]);
    return this.energies;
  }

  private weigh(powers: Float64Array, energies: Float64Array): void {
    for (const [band, { first, weights }] of this.filters.entries()) {
      let sum = 0;
      for (let index = 0; index < weights.length; index++) {
        sum += (weights[index] as number) * (powers[first + index] as number);
      }
      energies[band] = sum;
    }
  }
}
