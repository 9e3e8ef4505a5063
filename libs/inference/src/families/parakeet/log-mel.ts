import { MelEnergies } from '../../recognition/mel-energies.js';
import { recognitionSampleRate } from '../../recognition/speech-recognition.js';

/** Hop between two frames, in samples: 100 frames per second. */
export const hopSamples = 160;
const windowSamples = 400;
const transformLength = 512;
/** Weight of the previous sample that pre-emphasis subtracts. */
const preEmphasis = 0.97;
/** Added to every energy before its logarithm. */
const smallestEnergy = 2 ** -24;
/** Added to every deviation before the division by it. */
const smallestDeviation = 1e-5;

export interface NormalizedFeatures {
  /** `[bands, frames]`. */
  data: Float32Array;
  /** Columns of `data`, of which the last is zero. */
  frames: number;
  /** Frames with audio. */
  length: number;
}

/**
 * Computes the input of NeMo's models: the logarithm of mel energies after pre-emphasis, each band scaled to mean 0 and
 * deviation 1 over the recording.
 */
export class NormalizedLogMel {
  private readonly energies: MelEnergies;
  private readonly window = Float64Array.from(
    { length: windowSamples },
    (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / (windowSamples - 1)),
  );

  constructor(readonly bands: number) {
    this.energies = new MelEnergies({ bands, transformLength, sampleRate: recognitionSampleRate });
  }

  /** Takes at least two frames of samples. */
  compute(samples: Float32Array): NormalizedFeatures {
    const { bands } = this;
    const emphasized = emphasize(samples);
    const length = Math.floor(samples.length / hopSamples);
    const frames = length + 1;
    const data = new Float32Array(bands * frames);
    for (let frame = 0; frame < length; frame += 2) {
      for (const [index, target] of this.energies.frames.entries()) this.fill(target, emphasized, frame + index);
      for (const [index, energies] of this.energies.run().entries()) {
        const at = frame + index;
        if (at >= length) break;
        for (let band = 0; band < bands; band++) {
          data[band * frames + at] = Math.log((energies[band] as number) + smallestEnergy);
        }
      }
    }
    for (let band = 0; band < bands; band++) normalize(data.subarray(band * frames, band * frames + length));
    return { data, frames, length };
  }

  /** Fills a windowed frame centered at `frame * 160`. The recording is followed and preceded by silence. */
  private fill(target: Float64Array, samples: Float32Array, frame: number): void {
    target.fill(0);
    const offset = (transformLength - windowSamples) / 2;
    const from = frame * hopSamples - windowSamples / 2;
    for (let index = 0; index < windowSamples; index++) {
      target[offset + index] = (samples[from + index] ?? 0) * (this.window[index] as number);
    }
  }
}

function emphasize(samples: Float32Array): Float32Array {
  return samples.map((sample, index) => sample - preEmphasis * (samples[index - 1] ?? 0));
}

/** Scales values to mean 0 and deviation 1, in place. */
function normalize(values: Float32Array): void {
  let sum = 0;
  for (const value of values) sum += value;
  const mean = sum / values.length;
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  const deviation = Math.sqrt(squares / (values.length - 1)) + smallestDeviation;
  for (let index = 0; index < values.length; index++) values[index] = ((values[index] as number) - mean) / deviation;
}
