import { NoiseSchedule, roundHalfEven } from './noise-schedule.js';
import type { DiffusionScheduler, SchedulerConfig, SignalMix, StepFactors } from './scheduler.js';
import { cleanFactors, noiseFactors, signalMix } from './signal-mix.js';

/** DDIM without fresh noise (https://arxiv.org/abs/2010.02502, equation 12 with sigma 0). */
export class DdimScheduler implements DiffusionScheduler {
  readonly timesteps: readonly number[];
  readonly initialNoiseScale = 1;
  private readonly schedule: NoiseSchedule;
  private readonly stride: number;
  private readonly finalShare: number;

  constructor(config: SchedulerConfig, steps: number) {
    this.schedule = new NoiseSchedule(config);
    this.timesteps = this.schedule.timesteps(steps).map(roundHalfEven);
    this.stride = Math.floor(this.schedule.length / steps);
    this.finalShare = config.set_alpha_to_one === false ? (this.schedule.signal[0] ?? 1) : 1;
  }

  inputScale(): number {
    return 1;
  }

  mixAt(step: number): SignalMix {
    return this.mixOf(this.timesteps[step] ?? 0);
  }

  factors(step: number): StepFactors {
    const timestep = this.timesteps[step] ?? 0;
    const { prediction } = this.schedule;
    const from = this.mixOf(timestep);
    const to = this.mixOf(timestep - this.stride);
    const clean = cleanFactors(from, prediction);
    const noise = noiseFactors(from, prediction);
    return {
      latents: to.signal * clean.latents + to.noise * noise.latents,
      output: to.signal * clean.output + to.noise * noise.output,
      lastClean: 0,
      noise: 0,
      clean: null,
    };
  }

  private mixOf(timestep: number): SignalMix {
    return signalMix(timestep >= 0 ? (this.schedule.signal[timestep] ?? 1) : this.finalShare);
  }
}
