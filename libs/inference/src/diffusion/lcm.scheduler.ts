import { NoiseSchedule } from './noise-schedule.js';
import type { DiffusionScheduler, NoiseSource, SchedulerConfig } from './scheduler.js';
import { cleanValue, mixed, signalMix, type SignalMix } from './signal-mix.js';

const sigmaData = 0.5;

/** Multistep sampling of latent consistency models (https://arxiv.org/abs/2310.04378, algorithm 3). */
export class LcmScheduler implements DiffusionScheduler {
  readonly timesteps: readonly number[];
  readonly initialNoiseScale = 1;
  private readonly schedule: NoiseSchedule;
  private readonly timestepScaling: number;

  constructor(
    config: SchedulerConfig,
    steps: number,
    private readonly noise: NoiseSource,
  ) {
    this.schedule = new NoiseSchedule(config);
    this.timestepScaling = config.timestep_scaling ?? 10;
    const { original_inference_steps: distilled = 50 } = config;
    const stride = Math.floor(this.schedule.length / distilled);
    // Timesteps are spaced evenly among those that the network was distilled at.
    this.timesteps = Array.from(
      { length: steps },
      (_, index) => (distilled - Math.floor((index * distilled) / steps)) * stride - 1,
    );
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
    const mix = this.mixAt(timestep);
    // Boundary condition: at timestep zero the latents are the image.
    const scaled = timestep * this.timestepScaling;
    const skip = sigmaData ** 2 / (scaled ** 2 + sigmaData ** 2);
    const gain = scaled / Math.hypot(scaled, sigmaData);
    const clean = latents.map(
      (value, index) => gain * cleanValue(output[index] ?? 0, value, mix, prediction) + skip * value,
    );
    const next = this.timesteps[step + 1];
    return next === undefined ? clean : mixed(clean, this.noise(), this.mixAt(next));
  }

  private mixAt(timestep: number): SignalMix {
    return signalMix(this.schedule.signal[timestep] ?? 1);
  }
}
