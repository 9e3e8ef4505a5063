import { PlatformError } from '#common';
import type { PredictionType, SchedulerConfig } from './scheduler.js';

export type TimestepSpacing = 'linspace' | 'leading' | 'trailing';

/** Noise schedule a network was trained with, and the choice of its timesteps for fewer steps. */
export class NoiseSchedule {
  /** Share of the image in noisy latents (`alphas_cumprod`), by training timestep. */
  readonly signal: Float64Array;
  /** Ratio of noise to image, by training timestep. */
  readonly sigmas: Float64Array;
  readonly spacing: TimestepSpacing;
  readonly prediction: PredictionType;
  readonly offset: number;

  constructor(config: SchedulerConfig) {
    this.signal = signalShares(config);
    this.sigmas = this.signal.map((share) => Math.sqrt((1 - share) / share));
    this.spacing = oneOf(config.timestep_spacing ?? 'leading', ['linspace', 'leading', 'trailing'], 'timestep_spacing');
    this.prediction = oneOf(config.prediction_type ?? 'epsilon', ['epsilon', 'v_prediction'], 'prediction_type');
    this.offset = config.steps_offset ?? 0;
  }

  get length(): number {
    return this.signal.length;
  }

  /** Returns `steps` timesteps, from noisy to clean. Only `linspace` returns fractions. */
  timesteps(steps: number): number[] {
    const { length, offset } = this;
    switch (this.spacing) {
      case 'linspace':
        return evenly(0, length - 1, steps).toReversed();
      case 'leading':
        return Array.from({ length: steps }, (_, index) => (steps - 1 - index) * Math.floor(length / steps) + offset);
      case 'trailing':
        return Array.from({ length: steps }, (_, index) => roundHalfEven(length - (index * length) / steps) - 1);
    }
  }

  /** Interpolates the sigma of a fractional timestep. */
  sigmaAt(timestep: number): number {
    const low = Math.max(0, Math.min(Math.floor(timestep), this.length - 1));
    const high = Math.min(low + 1, this.length - 1);
    const [from = 0, to = 0] = [this.sigmas[low], this.sigmas[high]];
    return from + (to - from) * (timestep - low);
  }

  /** Returns the timestep that has a given sigma, interpolated by the logarithm of sigma. */
  timestepAt(sigma: number): number {
    const logSigma = Math.log(Math.max(sigma, 1e-10));
    let low = this.sigmas.findLastIndex((known) => Math.log(known) <= logSigma);
    low = Math.max(0, Math.min(low, this.length - 2));
    const [below, above] = [Math.log(this.sigmas[low] ?? 1), Math.log(this.sigmas[low + 1] ?? 1)];
    const weight = Math.max(0, Math.min(1, (below - logSigma) / (below - above)));
    return low + weight;
  }
}

/** Returns sigmas that spend more steps on fine detail (https://arxiv.org/abs/2206.00364, equation 5). */
export function karrasSigmas(max: number, min: number, steps: number): number[] {
  const rho = 7;
  const [from, to] = [max ** (1 / rho), min ** (1 / rho)];
  return evenly(0, 1, steps).map((position) => (from + position * (to - from)) ** rho);
}

/** Returns evenly spaced values from `first` to `last`, both included. */
export function evenly(first: number, last: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) =>
    count === 1 ? first : first + ((last - first) * index) / (count - 1),
  );
}

/** Rounds halves to the even neighbor, as the reference implementation does. */
export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function signalShares(config: SchedulerConfig): Float64Array {
  const { beta_start: first = 0.00085, beta_end: last = 0.012, num_train_timesteps: length = 1000 } = config;
  const kind = oneOf(config.beta_schedule ?? 'scaled_linear', ['linear', 'scaled_linear'], 'beta_schedule');
  const betas =
    kind === 'linear'
      ? evenly(first, last, length)
      : evenly(Math.sqrt(first), Math.sqrt(last), length).map((root) => root * root);
  let product = 1;
  return Float64Array.from(betas, (beta) => (product *= 1 - beta));
}

function oneOf<Value extends string>(value: string, known: readonly Value[], name: string): Value {
  const found = known.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw new PlatformError('INVALID_MODEL', `The scheduler's ${name} "${value}" is not known.`);
}
