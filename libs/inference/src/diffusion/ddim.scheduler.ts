import { NoiseSchedule, roundHalfEven } from './noise-schedule.js';
import type { DiffusionScheduler, SchedulerConfig } from './scheduler.js';
import { cleanValue, mixed, signalMix, noiseValue, type SignalMix } from './signal-mix.js';

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

  scaleInput(latents: Float32Array): Float32Array {
    return latents;
  }

  addNoise(clean: Float32Array, noise: Float32Array, step: number): Float32Array {
    return mixed(clean, noise, this.mixAt(this.timesteps[step] ?? 0));
  }

  step(output: Float32Array, latents: Float32Array, step: number): Float32Array {
    const timestep = this.timesteps[step] ?? 0;
    const { prediction } = this.schedule;
    const from = this.mixAt(timestep);
    const to = this.mixAt(timestep - this.stride);
    return latents.map((value, index) => {
      const predicted = output[index] ?? 0;
      const clean = cleanValue(predicted, value, from, prediction);
      return to.signal * clean + to.noise * noiseValue(predicted, value, from, prediction);
    });
  }

  private mixAt(timestep: number): SignalMix {
    return signalMix(timestep >= 0 ? (this.schedule.signal[timestep] ?? 1) : this.finalShare);
  }
}
