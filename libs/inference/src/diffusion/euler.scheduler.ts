import { karrasSigmas, NoiseSchedule } from './noise-schedule.js';
import type { CleanFactors, DiffusionScheduler, SchedulerConfig, SignalMix, StepFactors } from './scheduler.js';

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
    private readonly kind: EulerKind,
  ) {
    this.schedule = new NoiseSchedule(config);
    const spaced = this.schedule.timesteps(steps);
    const sigmas = spaced.map((timestep) => this.schedule.sigmaAt(timestep));
    const [first = 0, last = 0] = [sigmas[0], sigmas.at(-1)];
    const isKarras = config.use_karras_sigmas === true && kind === 'plain';
    const chosen = isKarras ? karrasSigmas(first, last, steps) : sigmas;
    this.timesteps = isKarras ? chosen.map((sigma) => this.schedule.timestepAt(sigma)) : spaced;
    this.sigmas = [...chosen, 0];
    const max = chosen[0] ?? 0;
    this.initialNoiseScale = this.schedule.spacing === 'leading' ? Math.hypot(max, 1) : max;
  }

  inputScale(step: number): number {
    return 1 / Math.hypot(this.sigmas[step] ?? 0, 1);
  }

  mixAt(step: number): SignalMix {
    return { signal: 1, noise: this.sigmas[step] ?? 0 };
  }

  factors(step: number): StepFactors {
    const sigma = this.sigmas[step] ?? 0;
    const { down, up } = this.targets(sigma, this.sigmas[step + 1] ?? 0);
    const clean = this.cleanFactors(sigma);
    const moved = (down - sigma) / sigma;
    return {
      latents: 1 + moved * (1 - clean.latents),
      output: -moved * clean.output,
      lastClean: 0,
      noise: up,
      clean: null,
    };
  }

  /** Returns how far a step lowers the noise level, and how much fresh noise is added back. */
  private targets(from: number, to: number): { down: number; up: number } {
    if (this.kind === 'plain') return { down: to, up: 0 };
    const up = Math.sqrt((to ** 2 * (from ** 2 - to ** 2)) / from ** 2);
    return { down: Math.sqrt(to ** 2 - up ** 2), up };
  }

  private cleanFactors(sigma: number): CleanFactors {
    if (this.schedule.prediction === 'epsilon') return { latents: 1, output: -sigma };
    return { latents: 1 / (sigma ** 2 + 1), output: -sigma / Math.hypot(sigma, 1) };
  }
}
