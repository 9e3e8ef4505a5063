import { PlatformError } from '#common';
import { corruptedImage } from './image-error.js';
import type { ImageLimits } from './image-limits.js';
import { type ImageSketch, sniffImage } from './sniff-image.js';

export const defaultMaxPixels = 16_777_216;

/** Reads format and size with our own code, and holds them against the limits. Throws as `readImageHeader` does. */
export function checkSketch(bytes: Buffer, limits: ImageLimits): ImageSketch {
  const { maxBytes, minPixels = 1, maxPixels = defaultMaxPixels, minSide = 1 } = limits;
  if (maxBytes !== undefined && bytes.length > maxBytes) {
    throw new PlatformError('PAYLOAD_TOO_LARGE', `The image is larger than ${maxBytes} bytes.`);
  }
  const sketch = sniffImage(bytes);
  if (sketch.animated) throw corruptedImage('is animated; send a still one');
  const pixels = sketch.width * sketch.height;
  const size = `The image has ${sketch.width} × ${sketch.height} pixels`;
  if (pixels > maxPixels) throw new PlatformError('IMAGE_TOO_LARGE', `${size}; ${maxPixels} in all are allowed.`);
  if (pixels < minPixels) throw new PlatformError('IMAGE_TOO_SMALL', `${size}; at least ${minPixels} are needed.`);
  if (Math.min(sketch.width, sketch.height) < minSide) {
    throw new PlatformError('IMAGE_TOO_SMALL', `${size}; each side needs at least ${minSide}.`);
  }
  return sketch;
}
