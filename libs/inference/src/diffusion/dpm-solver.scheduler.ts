import { evenly, karrasSigmas, NoiseSchedule, roundHalfEven } from './noise-schedule.js';
import type { DiffusionScheduler, SchedulerConfig, SignalMix, StepFactors } from './scheduler.js';
import { cleanFactors, signalMix } from './signal-mix.js';

/**
 * DPM-Solver++, second order, multistep, midpoint (https://arxiv.org/abs/2211.01095, algorithm 2); known as "DPM++ 2M".
 */
export class DpmSolverScheduler implements DiffusionScheduler {
  readonly timesteps: readonly number[];
  readonly initialNoiseScale = 1;
  private readonly schedule: NoiseSchedule;
  /** One entry more than there are steps: the last is the clean image. */
  private readonly sigmas: readonly number[];

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

  inputScale(): number {
    return 1;
  }

  mixAt(step: number): SignalMix {
    const sigma = this.sigmas[step] ?? 0;
    return signalMix(1 / (sigma ** 2 + 1));
  }

  factors(step: number, isFirst: boolean): StepFactors {
    const from = this.mixAt(step);
    const to = this.mixAt(step + 1);
    const isLast = to.noise === 0;
    const clean = cleanFactors(from, this.schedule.prediction);
    // The last step ends at zero noise, where the second order is undefined.
    const slope = isFirst || isLast ? 0 : 0.5 / this.stepRatio(step);
    const keep = to.noise / from.noise;
    const gain = -to.signal * Math.expm1(halfLogSnr(from) - halfLogSnr(to));
    return {
      latents: keep + gain * (1 + slope) * clean.latents,
      output: gain * (1 + slope) * clean.output,
      lastClean: -gain * slope,
      noise: 0,
      clean: isLast ? null : clean,
    };
  }

  /** Ratio of the previous step's length to this step's, in half the logarithm of the signal-to-noise ratio. */
  private stepRatio(step: number): number {
    const [before, now, next] = [this.mixAt(step - 1), this.mixAt(step), this.mixAt(step + 1)].map(halfLogSnr);
    return ((now ?? 0) - (before ?? 0)) / ((next ?? 0) - (now ?? 0));
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
