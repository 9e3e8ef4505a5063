/** How a network's answer is meant: the noise in its input, or the velocity (https://arxiv.org/abs/2202.00512). */
export type PredictionType = 'epsilon' | 'v_prediction';

/** Draws standard normal noise, as many values as the latents have; a new draw each time. */
export type NoiseSource = () => Float32Array;

/**
 * Takes latents from noise to a picture, one call of the network per step. Steps are numbered from 0, in the order of
 * denoising; one scheduler serves one picture, from one step on to the last.
 */
export interface DiffusionScheduler {
  /** What the network is told of each step: moments of the training schedule, from noisy to clean. */
  readonly timesteps: readonly number[];
  /** Standard normal noise times this is where a picture from nothing begins. */
  readonly initialNoiseScale: number;
  /** Latents as the network wants them at a step. */
  scaleInput(latents: Float32Array, step: number): Float32Array;
  /** A clean picture made as noisy as latents are at the beginning of a step. */
  addNoise(clean: Float32Array, noise: Float32Array, step: number): Float32Array;
  /** The latents after a step, from the network's answer to those before. */
  step(output: Float32Array, latents: Float32Array, step: number): Float32Array;
}

/** The part of `scheduler_config.json` (diffusers layout) that decides the numbers. */
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
