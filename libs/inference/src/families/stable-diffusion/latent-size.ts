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
