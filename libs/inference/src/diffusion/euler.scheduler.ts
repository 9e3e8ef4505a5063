import { karrasSigmas, NoiseSchedule } from './noise-schedule.js';
import type { DiffusionScheduler, NoiseSource, SchedulerConfig } from './scheduler.js';

/** `ancestral` adds fresh noise after each step; `plain` does not. */
export type EulerKind = 'plain' | 'ancestral';

/**
 * Euler's method (https://arxiv.org/abs/2206.00364, algorithm 2 without churn) and its ancestral form. Also serves
 * one-step (turbo) networks, whose configuration sets `trailing` timestep spacing.
 */
export class EulerScheduler implements DiffusionScheduler {
  readonly timesteps: readonly number[];
  readonly initialNoiseScale: number;
  private readonly schedule: NoiseSchedule;
  /** One entry more than there are steps: the last is the clean image. */
  private readonly sigmas: readonly number[];

  constructor(
    config: SchedulerConfig,
    steps: number,
    private readonly options: { kind: EulerKind; noise: NoiseSource },
  ) {
    this.schedule = new NoiseSchedule(config);
    const spaced = this.schedule.timesteps(steps);
    const sigmas = spaced.map((timestep) => this.schedule.sigmaAt(timestep));
    const [first = 0, last = 0] = [sigmas[0], sigmas.at(-1)];
    const isKarras = config.use_karras_sigmas === true && options.kind === 'plain';
    const chosen = isKarras ? karrasSigmas(first, last, steps) : sigmas;
    this.timesteps = isKarras ? chosen.map((sigma) => this.schedule.timestepAt(sigma)) : spaced;
    this.sigmas = [...chosen, 0];
    const max = chosen[0] ?? 0;
    this.initialNoiseScale = this.schedule.spacing === 'leading' ? Math.hypot(max, 1) : max;
  }

  scaleInput(latents: Float32Array, step: number): Float32Array {
    const scale = Math.hypot(this.sigmas[step] ?? 0, 1);
    return latents.map((value) => value / scale);
  }

  addNoise(clean: Float32Array, noise: Float32Array, step: number): Float32Array {
    const sigma = this.sigmas[step] ?? 0;
    return clean.map((value, index) => value + sigma * (noise[index] ?? 0));
  }

  step(output: Float32Array, latents: Float32Array, step: number): Float32Array {
    const sigma = this.sigmas[step] ?? 0;
    const { down, up } = this.targets(sigma, this.sigmas[step + 1] ?? 0);
    const noise = this.options.kind === 'ancestral' ? this.options.noise() : null;
    return latents.map((value, index) => {
      const clean = this.cleanValue(output[index] ?? 0, value, sigma);
      const moved = value + ((value - clean) / sigma) * (down - sigma);
      return noise === null ? moved : moved + up * (noise[index] ?? 0);
    });
  }

  /** Returns how far a step lowers the noise level, and how much fresh noise is added back. */
  private targets(from: number, to: number): { down: number; up: number } {
    if (this.options.kind === 'plain') return { down: to, up: 0 };
    const up = Math.sqrt((to ** 2 * (from ** 2 - to ** 2)) / from ** 2);
    return { down: Math.sqrt(to ** 2 - up ** 2), up };
  }

  private cleanValue(output: number, value: number, sigma: number): number {
    if (this.schedule.prediction === 'epsilon') return value - sigma * output;
    return (-output * sigma) / Math.hypot(sigma, 1) + value / (sigma ** 2 + 1);
  }
}
