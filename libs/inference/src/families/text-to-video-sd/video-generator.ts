import { createScheduler } from '../../diffusion/create-scheduler.js';
import { NormalNoise } from '../../diffusion/normal-noise.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { AnimateInput, AnimateOutput, FrameLatents } from '../../images/video-tasks.js';
import type { ImageOutput } from '../../images/image-tasks.js';
import type { LatentOperations } from '../../diffusion/latent-operations.js';
import { type GraphSession, releaseKept } from '../../runtime/graph-session.js';
import type { Autoencoder } from '../stable-diffusion/autoencoder.js';
import { denoise } from '../stable-diffusion/denoise.js';
import { Denoiser } from '../stable-diffusion/denoiser.js';
import { latentSize } from '../stable-diffusion/latent-size.js';
import type { PipelineConfig } from '../stable-diffusion/pipeline-files.js';
import type { PromptEncoder } from '../stable-diffusion/prompt-encoder.js';

export interface VideoGeneratorDependencies {
  config: PipelineConfig;
  encoder: PromptEncoder;
  /** Its latents have a frame axis. */
  unet: GraphSession;
  operations: LatentOperations;
  autoencoder: Autoencoder;
  steps: number;
  /** Guidance scale; 1 and less disable the comparison with the negative prompt. */
  guidance: number;
}

/**
 * Latent diffusion of all frames of a video together (https://arxiv.org/abs/2308.06571); each frame is decoded
 * separately.
 */
export class VideoGenerator {
  constructor(private readonly dependencies: VideoGeneratorDependencies) {}

  /** Rejects with the error of `context.yieldToEventLoop` if the task is cancelled, which is checked between steps. */
  async animate(input: AnimateInput, context: TaskContext): Promise<AnimateOutput> {
    const { config, unet, operations, steps } = this.dependencies;
    const { height, width } = latentSize(input, config);
    const shape = { channels: config.latentChannels, frames: input.frames, height, width };
    const length = shape.channels * input.frames * height * width;
    const noise = new NormalNoise(input.seed);
    const scheduler = createScheduler(config.scheduler, steps);
    const conditions = await this.conditions(input);
    const denoiser = new Denoiser(unet, operations, { ...conditions, images: 1, frames: input.frames });
    const start = noise.draw(length).map((value) => value * scheduler.initialNoiseScale);
    const latents = operations.place(start, [1, shape.channels, shape.frames, height, width]);
    const sampling = { scheduler, denoiser, operations, noise: () => noise.draw(length) };
    const denoised = await denoise({ ...sampling, latents, first: 0, keptParts: null }, context);
    try {
      return { frames: framesOf(operations.read(denoised), shape) };
    } finally {
      releaseKept([denoised]);
    }
  }

  /** Decodes one frame to pixels. */
  async develop(latents: FrameLatents, context: TaskContext): Promise<ImageOutput> {
    await context.yieldToEventLoop();
    return { image: await context.measure(() => this.dependencies.autoencoder.decode(latents)) };
  }

  private async conditions({ prompt, negativePrompt, width, height }: AnimateInput) {
    const { config, encoder, guidance } = this.dependencies;
    return {
      prompt: await encoder.encode(prompt),
      negative: guidance > 1 ? await encoder.encodeNegative(negativePrompt) : null,
      guidance,
      imageHeight: height,
      imageWidth: width,
      guidanceDimensions: null,
      run: config.run,
    };
  }
}

/** Extracts the latents of a frame from `[channels, frames, height, width]`. */
function framesOf(
  latents: Float32Array,
  { channels, frames, height, width }: Omit<FrameLatents, 'data'> & { frames: number },
): FrameLatents[] {
  const plane = height * width;
  return Array.from({ length: frames }, (_, frame) => {
    const data = new Float32Array(channels * plane);
    for (let channel = 0; channel < channels; channel++) {
      const from = (channel * frames + frame) * plane;
      data.set(latents.subarray(from, from + plane), channel * plane);
    }
    return { channels, height, width, data };
  });
}
