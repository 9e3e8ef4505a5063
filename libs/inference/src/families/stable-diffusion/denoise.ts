import type { DiffusionScheduler } from '../../diffusion/scheduler.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { Denoiser } from './denoiser.js';

export interface DenoiseDependencies {
  scheduler: DiffusionScheduler;
  denoiser: Denoiser;
  /** Latents with the noise level of the first step. */
  latents: Float32Array;
  /** First step, counted from 0. */
  first: number;
  /** Changes the latents after a step, such as to keep a part of an image. */
  afterStep?: (latents: Float32Array, step: number) => Float32Array;
}

/**
 * Denoises latents to the last step and reports progress; the decoding that follows counts as one step. Rejects with
 * the error of `context.yieldToEventLoop` if the task is cancelled, which is checked between steps. Releases the denoiser.
 */
export async function denoise(
  { scheduler, denoiser, latents: noisy, first, afterStep }: DenoiseDependencies,
  context: TaskContext,
): Promise<Float32Array> {
  let latents = noisy;
  const { timesteps } = scheduler;
  try {
    for (let step = first; step < timesteps.length; step++) {
      await context.yieldToEventLoop();
      const scaled = scheduler.scaleInput(latents, step);
      const prediction = await context.measure(() => denoiser.run(scaled, timesteps[step] ?? 0));
      latents = scheduler.step(prediction, latents, step);
      if (afterStep !== undefined) latents = afterStep(latents, step);
      context.progress((step + 1 - first) / (timesteps.length - first + 1));
    }
    return latents;
  } finally {
    denoiser.release();
  }
}
