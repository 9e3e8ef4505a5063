import { createScheduler } from '../../diffusion/create-scheduler.js';
import { BatchNoise } from '../../diffusion/normal-noise.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { DiffusionScheduler } from '../../diffusion/scheduler.js';
import type { GenerateInput, GenerateOutput } from '../../images/image-tasks.js';
import type { RgbPixels } from '../../images/pixel-grid.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import type { Autoencoder } from './autoencoder.js';
import { denoise, type DenoiseDependencies } from './denoise.js';
import { Denoiser } from './denoiser.js';
import { keptLatents, type LatentShape, latentSize } from './latent-size.js';
import type { PipelineConfig } from './pipeline-files.js';
import type { PromptEncoder } from './prompt-encoder.js';

export interface ImageGeneratorDependencies {
  config: PipelineConfig;
  encoder: PromptEncoder;
  unet: GraphSession;
  autoencoder: Autoencoder;
}

/**
 * Latent diffusion from a prompt, and from an image or a part of it: https://arxiv.org/abs/2112.10752,
 * https://arxiv.org/abs/2108.01073.
 */
export class ImageGenerator {
  constructor(private readonly dependencies: ImageGeneratorDependencies) {}

  /** Rejects with the error of `context.yieldToEventLoop` if the task is cancelled; at most one more step runs. */
  async make(input: GenerateInput, context: TaskContext): Promise<GenerateOutput> {
    const { config, unet, autoencoder } = this.dependencies;
    const images = input.seeds.length;
    const shape = { channels: config.latentChannels, ...latentSize(input, config) };
    const length = shape.channels * shape.height * shape.width;
    const noise = new BatchNoise(input.seeds, length);
    const scheduler = createScheduler(config.scheduler, input.steps, () => noise.draw());
    const conditions = await this.conditions(input);
    const drawn = noise.draw();
    const start = await this.start(input, { scheduler, drawn, shape });
    const denoiser = new Denoiser(unet, { ...conditions, ...shape, images, frames: null });
    const latents = await denoise({ scheduler, denoiser, ...start }, context);
    const decoded: RgbPixels[] = [];
    for (let from = 0; from < latents.length; from += length) {
      await context.yieldToEventLoop();
      const data = latents.subarray(from, from + length);
      decoded.push(await context.measure(() => autoencoder.decode({ ...shape, data })));
    }
    return { images: decoded };
  }

  /** Returns the latents of the first step: noise alone, or an image with as much noise as its strength says. */
  private async start(
    { image, mask, strength, steps, seeds }: GenerateInput,
    { scheduler, drawn, shape }: { scheduler: DiffusionScheduler; drawn: Float32Array; shape: LatentShape },
  ): Promise<Pick<DenoiseDependencies, 'latents' | 'first' | 'afterStep'>> {
    const alone = { latents: drawn.map((value) => value * scheduler.initialNoiseScale), first: 0 };
    if (image === null) return alone;
    const clean = repeated(await this.dependencies.autoencoder.encode(image), seeds.length);
    const first = firstStep(steps, strength);
    // Nothing of a masked part is left at full strength.
    const begun = mask !== null && strength >= 1 ? alone : { latents: scheduler.addNoise(clean, drawn, first), first };
    if (mask === null) return begun;
    const isKept = keptLatents(mask, image, shape);
    const afterStep = (latents: Float32Array, step: number): Float32Array => {
      const isLast = step + 1 === scheduler.timesteps.length;
      const kept = isLast ? clean : scheduler.addNoise(clean, drawn, step + 1);
      return latents.map((value, index) => (isKept[index % isKept.length] === 1 ? (kept[index] ?? 0) : value));
    };
    return { ...begun, afterStep };
  }

  private async conditions({ prompt, negativePrompt, guidance, width, height }: GenerateInput) {
    const { encoder, config } = this.dependencies;
    // A network with a guidance input was distilled, so it needs no unconditional pass.
    const isCompared = guidance > 1 && config.guidanceDimensions === null;
    return {
      prompt: await encoder.encode(prompt),
      negative: isCompared ? await encoder.encodeNegative(negativePrompt) : null,
      guidance,
      imageHeight: height,
      imageWidth: width,
      guidanceDimensions: config.guidanceDimensions,
      run: config.run,
    };
  }
}

/** Returns the first step when only part of an image is regenerated; at least one step runs. */
function firstStep(steps: number, strength: number): number {
  return Math.min(steps - 1, steps - Math.min(Math.floor(steps * strength), steps));
}

function repeated(values: Float32Array, times: number): Float32Array {
  const all = new Float32Array(values.length * times);
  for (let index = 0; index < times; index++) all.set(values, index * values.length);
  return all;
}
