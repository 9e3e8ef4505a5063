import { createScheduler } from '../../diffusion/create-scheduler.js';
import { BatchNoise } from '../../diffusion/normal-noise.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { LatentOperations } from '../../diffusion/latent-operations.js';
import type { DiffusionScheduler } from '../../diffusion/scheduler.js';
import { mixed } from '../../diffusion/signal-mix.js';
import type { GenerateInput, GenerateOutput } from '../../images/image-tasks.js';
import type { RgbPixels } from '../../images/pixel-grid.js';
import { type GraphSession, releaseKept } from '../../runtime/graph-session.js';
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
  operations: LatentOperations;
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
    const { config, unet, operations, autoencoder } = this.dependencies;
    const images = input.seeds.length;
    const shape = { channels: config.latentChannels, ...latentSize(input, config) };
    const length = shape.channels * shape.height * shape.width;
    const noise = new BatchNoise(input.seeds, length);
    const scheduler = createScheduler(config.scheduler, input.steps);
    const conditions = await this.conditions(input);
    const drawn = noise.draw();
    const start = await this.start(input, { scheduler, drawn, shape });
    const denoiser = new Denoiser(unet, operations, { ...conditions, images, frames: null });
    const sampling = { scheduler, denoiser, operations, noise: () => noise.draw() };
    const latents = await denoise({ ...sampling, ...start }, context);
    try {
      const decoded: RgbPixels[] = [];
      for (let image = 0; image < images; image++) {
        await context.yieldToEventLoop();
        decoded.push(await context.measure(() => autoencoder.decodeImage(latents, image, operations)));
      }
      return { images: decoded };
    } finally {
      releaseKept([latents]);
    }
  }

  /** Returns the latents of the first step: noise alone, or an image with as much noise as its strength says. */
  private async start(
    { image, mask, strength, steps, seeds }: GenerateInput,
    { scheduler, drawn, shape }: { scheduler: DiffusionScheduler; drawn: Float32Array; shape: LatentShape },
  ): Promise<Pick<DenoiseDependencies, 'latents' | 'first' | 'keptParts'>> {
    const { operations } = this.dependencies;
    const dims = [seeds.length, shape.channels, shape.height, shape.width];
    const begin = (latents: Float32Array, first: number) => ({ latents: operations.place(latents, dims), first });
    const alone = () =>
      begin(
        drawn.map((value) => value * scheduler.initialNoiseScale),
        0,
      );
    if (image === null) return { ...alone(), keptParts: null };
    const clean = repeated(await this.dependencies.autoencoder.encode(image), seeds.length);
    const first = firstStep(steps, strength);
    // Nothing of a masked part is left at full strength.
    const begun = mask !== null && strength >= 1 ? alone() : begin(mixed(clean, drawn, scheduler.mixAt(first)), first);
    if (mask === null) return { ...begun, keptParts: null };
    const isKept = keptLatents(mask, image, shape);
    const keptOf = (values: Float32Array): Float32Array =>
      values.map((value, index) => value * (isKept[index % isKept.length] ?? 0));
    const free = clean.map((_, index) => 1 - (isKept[index % isKept.length] ?? 0));
    const keptParts = {
      free: operations.place(free, dims),
      clean: operations.place(keptOf(clean), dims),
      noise: operations.place(keptOf(drawn), dims),
    };
    return { ...begun, keptParts };
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
