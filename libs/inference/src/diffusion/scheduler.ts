/** What the network predicts: the noise in its input, or the velocity (https://arxiv.org/abs/2202.00512). */
export type PredictionType = 'epsilon' | 'v_prediction';

/** Draws standard normal noise, one value per latent, anew at each call. */
export type NoiseSource = () => Float32Array;

/** Mix that gives latents: image times `signal` plus noise times `noise`. */
export interface SignalMix {
  signal: number;
  noise: number;
}

/** Factors of the clean image that a step estimates: it is linear in the latents and the network's output. */
export interface CleanFactors {
  latents: number;
  output: number;
}

/** Factors of a step: the next latents are the sum of what they multiply. */
export interface StepFactors extends CleanFactors {
  /** The factor of the clean image that the previous step estimated; 0 if there is none. */
  lastClean: number;
  /** The factor of fresh noise; 0 if the step adds none. */
  noise: number;
  /** The factors of the clean image that the next step takes; null if it takes none. */
  clean: CleanFactors | null;
}

/**
 * Says how latents are denoised into an image, with one call of the network per step; all steps are linear. Steps are
 * numbered from 0 in the order of denoising.
 */
export interface DiffusionScheduler {
  /** Training timestep passed to the network at each step, from noisy to clean. */
  readonly timesteps: readonly number[];
  /** Factor for the standard normal noise from which a text-to-image run starts. */
  readonly initialNoiseScale: number;
  /** Returns the factor of latents as the network's input at a step. */
  inputScale(step: number): number;
  /** Returns how much of a clean image and of noise latents have at the start of a step. */
  mixAt(step: number): SignalMix;
  /** `isFirst` is true for the first step that runs, which has no step before it. */
  factors(step: number, isFirst: boolean): StepFactors;
}

/** Members of `scheduler_config.json` (diffusers layout) that affect the results. */
export interface SchedulerConfig {
  _class_name?: string;
  beta_start?: number;
  beta_end?: number;
  beta_schedule?: string;
  num_train_timesteps?: number;
  timestep_spacing?: string;
  steps_offset?: number;
  prediction_type?: string;
  use_karras_sigmas?: boolean;
  set_alpha_to_one?: boolean;
  original_inference_steps?: number;
  timestep_scaling?: number;
}
