import { PlatformError } from '#common';
import type { PipelineConfig } from './pipeline-files.js';

/**
 * Returns the sides of the latents for an image size in pixels. Throws `INVALID_REQUEST` if the stride does not divide
 * a side.
 */
export function latentSize(
  pixels: { height: number; width: number },
  { latentStride }: PipelineConfig,
): { height: number; width: number } {
  const side = (name: 'height' | 'width'): number => {
    if (pixels[name] % latentStride === 0) return pixels[name] / latentStride;
    throw new PlatformError('INVALID_REQUEST', `${name} must be a multiple of ${latentStride}.`, name);
  };
  return { height: side('height'), width: side('width') };
}

/** Latents of one image. */
export interface LatentShape {
  channels: number;
  height: number;
  width: number;
}

/** Returns 1 for each latent without a masked pixel in its square, over all channels; 0 for the others. */
export function keptLatents(
  mask: Uint8Array,
  image: { height: number; width: number },
  { channels, height, width }: LatentShape,
): Uint8Array {
  const kept = new Uint8Array(channels * height * width).fill(1);
  const strideX = image.width / width;
  const strideY = image.height / height;
  mask.forEach((value, pixel) => {
    if (value === 0) return;
    const column = Math.floor((pixel % image.width) / strideX);
    const row = Math.floor(Math.floor(pixel / image.width) / strideY);
    for (let channel = 0; channel < channels; channel++) kept[(channel * height + row) * width + column] = 0;
  });
  return kept;
}
