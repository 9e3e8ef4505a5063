import { MelEnergies } from '../../recognition/mel-energies.js';

/** Hop length and window length in samples at 16 kHz. */
export const hopSamples = 160;
const windowSamples = 400;
const sampleRate = 16_000;
const floor = 1e-10;
/** Range below the loudest value, in powers of ten; everything quieter is clipped. */
const dynamicRange = 8;

/** Computes Whisper's input: the logarithm of mel-weighted power, 100 frames per second, scaled to about −1…1. */
export class LogMelSpectrogram {
  private readonly energies: MelEnergies;
  private readonly window = Float64Array.from(
    { length: windowSamples },
    (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / windowSamples),
  );

  constructor(private readonly melBins: number) {
    this.energies = new MelEnergies({ bands: melBins, transformLength: windowSamples, sampleRate });
  }

  /**
   * Returns `[melBins, frames]` of the samples, padded with silence up to `frames`. Samples beyond `frames * 160` are
   * ignored.
   */
  compute(samples: Float32Array, frames: number): Float32Array {
    const used = samples.subarray(0, frames * hopSamples);
    const result = new Float32Array(this.melBins * frames);
    result.fill(Math.log10(floor));
    // A frame whose window begins after the last sample is silent.
    const sounding = Math.min(frames, Math.ceil((used.length + windowSamples / 2) / hopSamples));
    for (let frame = 0; frame < sounding; frame += 2) this.computePair(used, frame, { frames, sounding, result });
    return scaled(result);
  }

  private computePair(
    samples: Float32Array,
    frame: number,
    { frames, sounding, result }: { frames: number; sounding: number; result: Float32Array },
  ): void {
    const total = frames * hopSamples;
    const [first, second] = this.energies.frames;
    this.fill(first, samples, { frame, total });
    this.fill(second, samples, { frame: frame + 1, total });
    for (const [index, energies] of this.energies.run().entries()) {
      const at = frame + index;
      if (at >= sounding) return;
      for (let mel = 0; mel < this.melBins; mel++) {
        result[mel * frames + at] = Math.log10(Math.max(floor, energies[mel] as number));
      }
    }
  }

  /** Returns a windowed frame centered at `frame * 160`. The recording, silence included, is mirrored at both ends. */
  private fill(target: Float64Array, samples: Float32Array, { frame, total }: { frame: number; total: number }): void {
    const from = frame * hopSamples - windowSamples / 2;
    for (let index = 0; index < windowSamples; index++) {
      let at = from + index;
      if (at < 0) at = -at;
      else if (at >= total) at = 2 * (total - 1) - at;
      const sample = at < samples.length ? (samples[at] as number) : 0;
      target[index] = sample * (this.window[index] as number);
    }
  }
}

function scaled(logPowers: Float32Array): Float32Array {
  let loudest = -Infinity;
  for (const value of logPowers) if (value > loudest) loudest = value;
  const quietest = loudest - dynamicRange;
  for (let index = 0; index < logPowers.length; index++) {
    logPowers[index] = (Math.max(logPowers[index] as number, quietest) + 4) / 4;
  }
  return logPowers;
}
