/** Zero crossings of the sinc on each side, at the lower of the two rates. */
const zeroCrossings = 32;
/** Kaiser window: about 96 dB of attenuation beyond the transition. */
const kaiserBeta = 9.6;
/** Share of the lower rate's band that is preserved. */
const rolloff = 0.95;
/**
 * Filter phases; finer fractions are rounded. Only affects unusual rate pairs, with an error some 72 dB below the
 * signal.
 */
const maxPhases = 4_096;
const exactPhases = 1_024;

/**
 * Changes the sample rate of one channel, part by part: windowed sinc, linear phase, no delay. n input samples give
 * ceil(n * to / from) output samples after `flush`.
 */
export class Resampler {
  private readonly step: number;
  private readonly phases: number;
  private readonly halfWidth: number;
  private readonly rows: (Float32Array | undefined)[];
  private readonly cutoff: number;
  /** Unprocessed input; its first sample is number `origin` of the input. */
  private pending: Float32Array;
  private origin: number;
  private produced = 0;
  private consumed = 0;

  constructor(private readonly rates: { from: number; to: number }) {
    const { from, to } = rates;
    const divisor = gcd(from, to);
    this.phases = to / divisor <= exactPhases ? to / divisor : maxPhases;
    this.step = from / to;
    this.cutoff = Math.min(1, to / from) * rolloff;
    this.halfWidth = Math.ceil((zeroCrossings * Math.max(1, from / to)) / rolloff);
    this.rows = Array.from({ length: this.phases });
    // Silence before the first sample, so that the first outputs need no special case.
    this.pending = new Float32Array(this.halfWidth);
    this.origin = -this.halfWidth;
  }

  /** Returns the output that `input` makes possible. */
  push(input: Float32Array): Float32Array {
    if (this.rates.from === this.rates.to) return input;
    this.consumed += input.length;
    return this.produce(input, this.origin + this.pending.length + input.length - this.halfWidth);
  }

  /** Returns the rest after all input. */
  flush(): Float32Array {
    if (this.rates.from === this.rates.to) return new Float32Array(0);
    return this.produce(new Float32Array(this.halfWidth + 1), this.consumed);
  }

  /** Returns outputs whose input position is before `end`. */
  private produce(input: Float32Array, end: number): Float32Array {
    const joined = new Float32Array(this.pending.length + input.length);
    joined.set(this.pending);
    joined.set(input, this.pending.length);
    const last = Math.max(this.produced, Math.ceil(end / this.step - 1e-9));
    const output = new Float32Array(last - this.produced);
    for (let index = 0; index < output.length; index += 1) {
      output[index] = this.sample(joined, this.produced + index);
    }
    this.produced = last;
    const keepFrom = Math.max(0, Math.floor(this.produced * this.step) - this.halfWidth - this.origin);
    this.pending = joined.slice(keepFrom);
    this.origin += keepFrom;
    return output;
  }

  private sample(input: Float32Array, index: number): number {
    const position = index * this.step;
    let whole = Math.floor(position + 1e-9);
    let phase = Math.round((position - whole) * this.phases);
    if (phase === this.phases) {
      whole += 1;
      phase = 0;
    }
    const row = (this.rows[phase] ??= this.row(phase / this.phases));
    const first = whole - this.halfWidth + 1 - this.origin;
    let sum = 0;
    for (let tap = 0; tap < row.length; tap += 1) sum += (row[tap] ?? 0) * (input[first + tap] ?? 0);
    return sum;
  }

  /**
   * Returns the filter for outputs `fraction` after an input sample. Its sum is 1, so that a constant level is
   * preserved.
   */
  private row(fraction: number): Float32Array {
    const taps = new Float64Array(2 * this.halfWidth);
    let total = 0;
    for (let tap = 0; tap < taps.length; tap += 1) {
      const distance = tap - this.halfWidth + 1 - fraction;
      const value = sinc(distance * this.cutoff) * kaiser(distance / this.halfWidth);
      taps[tap] = value;
      total += value;
    }
    return Float32Array.from(taps, (value) => value / total);
  }
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(kaiserBeta * Math.sqrt(1 - x * x)) / bessel(kaiserBeta);
}

/** Modified Bessel function of the first kind, order 0. */
function bessel(x: number): number {
  let sum = 1;
  let term = 1;
  for (let index = 1; term > sum * 1e-12; index += 1) {
    term *= (x / (2 * index)) ** 2;
    sum += term;
  }
  return sum;
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
