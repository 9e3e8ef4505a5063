import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';
import type { RunShape } from '#model-memory';
import type { SchedulerConfig } from '../../diffusion/scheduler.js';
import { type AutoencoderShape, diffusionShape, type UnetShape, videoShape } from './run-shape.js';

/** Members of the configuration files (diffusers layout) that the family reads. */
export interface PipelineConfig {
  /** From `model_index.json`. */
  pipelineClass: string;
  /** True if an empty negative prompt is encoded as zeros (SDXL). */
  zerosForEmpty: boolean;
  scheduler: SchedulerConfig;
  /** Factor applied to latents after encoding. */
  latentScale: number;
  /** Pixels per latent along a side. */
  latentStride: number;
  latentChannels: number;
  /** Width of the guidance embedding; null for networks without one. */
  guidanceDimensions: number | null;
  /** Memory of a run: one row of the denoiser, and one image of the decoder. */
  run: RunShape;
}

interface AutoencoderConfig extends AutoencoderShape {
  scaling_factor?: number;
  latent_channels?: number;
}

interface UnetConfig extends UnetShape {
  time_cond_proj_dim?: number | null;
}

export async function readPipelineConfig(directory: string): Promise<PipelineConfig> {
  const index = await readConfig<{ _class_name?: string; force_zeros_for_empty_prompt?: boolean }>(
    directory,
    'model_index.json',
  );
  const scheduler = await readConfig<SchedulerConfig>(directory, 'scheduler/scheduler_config.json');
  const autoencoder = await readConfig<AutoencoderConfig>(directory, 'vae_decoder/config.json');
  const unet = await readConfig<UnetConfig>(directory, 'unet/config.json');
  const shape = index._class_name === 'TextToVideoSDPipeline' ? videoShape : diffusionShape;
  const latentStride = 2 ** ((autoencoder.block_out_channels?.length ?? 4) - 1);
  return {
    pipelineClass: index._class_name ?? 'StableDiffusionPipeline',
    zerosForEmpty: index.force_zeros_for_empty_prompt ?? false,
    scheduler,
    latentScale: autoencoder.scaling_factor ?? 0.18215,
    latentStride,
    latentChannels: autoencoder.latent_channels ?? 4,
    guidanceDimensions: unet.time_cond_proj_dim ?? null,
    run: shape(unet, autoencoder, latentStride),
  };
}

async function readConfig<Config>(directory: string, name: string): Promise<Config> {
  try {
    return JSON.parse(await readFile(join(directory, name), 'utf8')) as Config;
  } catch (cause) {
    throw new PlatformError('INVALID_MODEL', `The model's file ${name} is missing or not JSON.`, null, { cause });
  }
}
