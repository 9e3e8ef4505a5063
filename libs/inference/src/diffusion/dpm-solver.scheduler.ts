import { evenly, karrasSigmas, NoiseSchedule, roundHalfEven } from './noise-schedule.js';
import type { DiffusionScheduler, SchedulerConfig } from './scheduler.js';
import { cleanValue, mixed, signalMix, type SignalMix } from './signal-mix.js';

/**
 * DPM-Solver++, second order, multistep, midpoint (https://arxiv.org/abs/2211.01095, algorithm 2); known as "DPM++ 2M".
 */
export class DpmSolverScheduler implements DiffusionScheduler {
  readonly timesteps: readonly number[];
  readonly initialNoiseScale = 1;
  private readonly schedule: NoiseSchedule;
  /** One entry more than there are steps: the last is the clean image. */
  private readonly sigmas: readonly number[];
  /** Clean image estimated by the previous step; null before the first step. */
  private lastClean: Float32Array | null = null;

  constructor(config: SchedulerConfig, steps: number) {
    this.schedule = new NoiseSchedule(config);
    const { sigmas } = this.schedule;
    if (config.use_karras_sigmas === true) {
      const chosen = karrasSigmas(sigmas.at(-1) ?? 0, sigmas[0] ?? 0, steps);
      this.timesteps = chosen.map((sigma) => roundHalfEven(this.schedule.timestepAt(sigma)));
      this.sigmas = [...chosen, 0];
    } else {
      this.timesteps = spaced(this.schedule, steps);
      this.sigmas = [...this.timesteps.map((timestep) => this.schedule.sigmaAt(timestep)), 0];
    }
  }

  scaleInput(latents: Float32Array): Float32Array {
    return latents;
  }

  addNoise(clean: Float32Array, noise: Float32Array, step: number): Float32Array {
    return mixed(clean, noise, this.mixAt(step));
  }

  step(output: Float32Array, latents: Float32Array, step: number): Float32Array {
    const from = this.mixAt(step);
    const to = this.mixAt(step + 1);
    const { prediction } = this.schedule;
    const clean = latents.map((value, index) => cleanValue(output[index] ?? 0, value, from, prediction));
    const before = this.lastClean;
    this.lastClean = clean;
    // The last step ends at zero noise, where the second order is undefined.
    const slope = before === null || to.noise === 0 ? 0 : 0.5 / this.stepRatio(step);
    const keep = to.noise / from.noise;
    const gain = -to.signal * Math.expm1(halfLogSnr(from) - halfLogSnr(to));
    return latents.map((value, index) => {
      const now = clean[index] ?? 0;
      const target = slope === 0 ? now : now + slope * (now - (before?.[index] ?? 0));
      return keep * value + gain * target;
    });
  }

  /** Ratio of the previous step's length to this step's, in half the logarithm of the signal-to-noise ratio. */
  private stepRatio(step: number): number {
    const [before, now, next] = [this.mixAt(step - 1), this.mixAt(step), this.mixAt(step + 1)].map(halfLogSnr);
    return ((now ?? 0) - (before ?? 0)) / ((next ?? 0) - (now ?? 0));
  }

  private mixAt(step: number): SignalMix {
    const sigma = this.sigmas[step] ?? 0;
    return signalMix(1 / (sigma ** 2 + 1));
  }
}

/** Returns this solver's own spacing, which leaves out the cleanest timestep. */
function spaced(schedule: NoiseSchedule, steps: number): number[] {
  if (schedule.spacing === 'trailing') return schedule.timesteps(steps);
  if (schedule.spacing === 'linspace') {
    return evenly(0, schedule.length - 1, steps + 1)
      .map(roundHalfEven)
      .toReversed()
      .slice(0, -1);
  }
  const stride = Math.floor(schedule.length / (steps + 1));
  return Array.from({ length: steps }, (_, index) => (steps - index) * stride + schedule.offset);
}

function halfLogSnr({ signal, noise }: SignalMix): number {
  return Math.log(signal) - Math.log(noise);
}
