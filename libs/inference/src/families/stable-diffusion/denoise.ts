import type { DiffusionScheduler } from '../../diffusion/scheduler.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { Denoiser } from './denoiser.js';

export interface DenoiseDependencies {
  scheduler: DiffusionScheduler;
  denoiser: Denoiser;
  /** As noisy as they are at the beginning of the first step. */
  latents: Float32Array;
  /** Step to begin with, from 0. */
  first: number;
}

/**
 * Takes latents to their last step and tells how far it is; what follows counts as a step. Rejects with what
 * `context.breathe` throws when the task was cancelled: between two steps.
 */
export async function denoise(
  { scheduler, denoiser, latents: noisy, first }: DenoiseDependencies,
  context: TaskContext,
): Promise<Float32Array> {
  let latents = noisy;
  const { timesteps } = scheduler;
  for (let step = first; step < timesteps.length; step++) {
    await context.yieldToEventLoop();
    const scaled = scheduler.scaleInput(latents, step);
    const answer = await context.measure(() => denoiser.run(scaled, timesteps[step] ?? 0));
    latents = scheduler.step(answer, latents, step);
    context.progress((step + 1 - first) / (timesteps.length - first + 1));
  }
  return latents;
}
