import { createScheduler } from '../../diffusion/create-scheduler.js';
import { NormalNoise } from '../../diffusion/normal-noise.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { GenerateInput, ImageOutput } from '../../images/image-tasks.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import type { Autoencoder } from './autoencoder.js';
import { denoise } from './denoise.js';
import { Denoiser } from './denoiser.js';
import { latentSize } from './latent-size.js';
import type { PipelineConfig } from './pipeline-files.js';
import type { PromptEncoder } from './prompt-encoder.js';

export interface ImageGeneratorDependencies {
  config: PipelineConfig;
  encoder: PromptEncoder;
  unet: GraphSession;
  autoencoder: Autoencoder;
}

/**
 * Latent diffusion from a prompt, and from an image: https://arxiv.org/abs/2112.10752,
 * https://arxiv.org/abs/2108.01073.
 */
export class ImageGenerator {
  constructor(private readonly dependencies: ImageGeneratorDependencies) {}

  /** Rejects with the error of `context.yieldToEventLoop` if the task is cancelled; at most one more step runs. */
  async make(input: GenerateInput, context: TaskContext): Promise<ImageOutput> {
    const { config, unet, autoencoder } = this.dependencies;
    const { height, width } = latentSize(input, config);
    const shape = { channels: config.latentChannels, height, width };
    const length = shape.channels * height * width;
    const noise = new NormalNoise(input.seed);
    const scheduler = createScheduler(config.scheduler, input.steps, () => noise.draw(length));
    const conditions = { ...(await this.conditions(input)), ...shape, frames: null };
    const denoiser = new Denoiser(unet, conditions);

    const first = input.image === null ? 0 : firstStep(input.steps, input.strength);
    const drawn = noise.draw(length);
    const noisy =
      input.image === null
        ? drawn.map((value) => value * scheduler.initialNoiseScale)
        : scheduler.addNoise(await autoencoder.encode(input.image), drawn, first);
    const latents = await denoise({ scheduler, denoiser, latents: noisy, first }, context);
    await context.yieldToEventLoop();
    return { image: await context.measure(() => autoencoder.decode({ ...shape, data: latents })) };
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
    };
  }
}

/** Returns the first step when only part of an image is regenerated; at least one step runs. */
function firstStep(steps: number, strength: number): number {
  return Math.min(steps - 1, steps - Math.min(Math.floor(steps * strength), steps));
}
