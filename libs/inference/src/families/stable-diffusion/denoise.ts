import type { KeptParts, LatentOperations, SteppedLatents } from '../../diffusion/latent-operations.js';
import type { DiffusionScheduler, NoiseSource } from '../../diffusion/scheduler.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import { type GraphTensor, releaseKept } from '../../runtime/graph-session.js';
import type { Denoiser } from './denoiser.js';

export interface DenoiseDependencies {
  scheduler: DiffusionScheduler;
  denoiser: Denoiser;
  operations: LatentOperations;
  /** Latents with the noise level of the first step. */
  latents: GraphTensor;
  /** First step, counted from 0. */
  first: number;
  noise: NoiseSource;
  /** Null if nothing of the images stays as it is. */
  keptParts: KeptParts | null;
}

/**
 * Denoises latents to the last step and reports progress; the decoding that follows counts as one step. Rejects with
 * the error of `context.yieldToEventLoop` if the task is cancelled, which is checked between steps. Releases what it is
 * given; its caller releases the result.
 */
export async function denoise(sampling: DenoiseDependencies, context: TaskContext): Promise<GraphTensor> {
  const { scheduler, denoiser, first, keptParts } = sampling;
  const { timesteps } = scheduler;
  let current: SteppedLatents = { latents: sampling.latents, clean: null };
  try {
    for (let step = first; step < timesteps.length; step++) {
      await context.yieldToEventLoop();
      const before = current;
      current = await context.measure(() => runStep(sampling, before, step));
      release(before);
      context.progress((step + 1 - first) / (timesteps.length - first + 1));
    }
    release({ ...current, latents: null });
    return current.latents;
  } catch (error) {
    release(current);
    throw error;
  } finally {
    denoiser.release();
    if (keptParts !== null) releaseKept(Object.values(keptParts));
  }
}

async function runStep(
  { scheduler, denoiser, operations, first, noise, keptParts }: DenoiseDependencies,
  { latents, clean }: SteppedLatents,
  step: number,
): Promise<SteppedLatents> {
  const factors = scheduler.factors(step, step === first);
  const outputs = await denoiser.run(latents, {
    timestep: scheduler.timesteps[step] ?? 0,
    scale: scheduler.inputScale(step),
  });
  const terms = {
    latents,
    outputs,
    guidance: denoiser.guidance,
    lastClean: factors.lastClean === 0 ? null : clean,
    noise: factors.noise === 0 ? null : noise(),
  };
  const stepped = await operations.step(terms, factors).finally(() => releaseKept(outputs));
  if (keptParts === null) return stepped;
  const isLast = step + 1 === scheduler.timesteps.length;
  const mix = isLast ? { signal: 1, noise: 0 } : scheduler.mixAt(step + 1);
  try {
    return { ...stepped, latents: await operations.restore(stepped.latents, keptParts, mix) };
  } finally {
    releaseKept([stepped.latents]);
  }
}

function release({ latents, clean }: { [Name in keyof SteppedLatents]: GraphTensor | null }): void {
  releaseKept([latents, clean].filter((tensor) => tensor !== null));
}
