/** What the network predicts: the noise in its input, or the velocity (https://arxiv.org/abs/2202.00512). */
export type PredictionType = 'epsilon' | 'v_prediction';

/** Draws standard normal noise, one value per latent, anew at each call. */
export type NoiseSource = () => Float32Array;

/**
 * Denoises latents into an image, with one call of the network per step. Steps are numbered from 0 in the order of
 * denoising. One scheduler serves one image, from one step to the last.
 */
export interface DiffusionScheduler {
  /** Training timestep passed to the network at each step, from noisy to clean. */
  readonly timesteps: readonly number[];
  /** Factor for the standard normal noise from which a text-to-image run starts. */
  readonly initialNoiseScale: number;
  /** Scales latents to the network's input at a step. */
  scaleInput(latents: Float32Array, step: number): Float32Array;
  /** Adds as much noise to clean latents as they have at the start of a step. */
  addNoise(clean: Float32Array, noise: Float32Array, step: number): Float32Array;
  /** Returns the latents after a step, from the network's output and the latents before it. */
  step(output: Float32Array, latents: Float32Array, step: number): Float32Array;
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
