import { NoiseSchedule } from './noise-schedule.js';
import type { DiffusionScheduler, SchedulerConfig, SignalMix, StepFactors } from './scheduler.js';
import { cleanFactors, signalMix } from './signal-mix.js';

const sigmaData = 0.5;

/** Multistep sampling of latent consistency models (https://arxiv.org/abs/2310.04378, algorithm 3). */
export class LcmScheduler implements DiffusionScheduler {
  readonly timesteps: readonly number[];
  readonly initialNoiseScale = 1;
  private readonly schedule: NoiseSchedule;
  private readonly timestepScaling: number;

  constructor(config: SchedulerConfig, steps: number) {
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

  inputScale(): number {
    return 1;
  }

  mixAt(step: number): SignalMix {
    return signalMix(this.schedule.signal[this.timesteps[step] ?? 0] ?? 1);
  }

  factors(step: number): StepFactors {
    const timestep = this.timesteps[step] ?? 0;
    // Boundary condition: at timestep zero the latents are the image.
    const scaled = timestep * this.timestepScaling;
    const skip = sigmaData ** 2 / (scaled ** 2 + sigmaData ** 2);
    const gain = scaled / Math.hypot(scaled, sigmaData);
    const clean = cleanFactors(this.mixAt(step), this.schedule.prediction);
    const isLast = step + 1 === this.timesteps.length;
    const next = isLast ? { signal: 1, noise: 0 } : this.mixAt(step + 1);
    return {
      latents: next.signal * (gain * clean.latents + skip),
      output: next.signal * gain * clean.output,
      lastClean: 0,
      noise: next.noise,
      clean: null,
    };
  }
}
