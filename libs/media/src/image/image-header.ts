import { PlatformError } from '#common';
import { corruptedImage } from './image-error.js';
import { sharp } from './sharp-settings.js';
import { type ImageSketch, sniffImage } from './sniff-image.js';

/** Limits of a route. Absent limits do not apply, except the pixels: 16,777,216 by default. */
export interface ImageLimits {
  maxBytes?: number;
  minPixels?: number;
  maxPixels?: number;
  /** Shortest allowed side, in pixels. */
  minSide?: number;
  /** Field to name in errors. */
  param?: string;
}

export interface ImageHeader {
  format: ImageSketch['format'];
  /** As displayed, with the EXIF orientation applied. */
  width: number;
  height: number;
  hasAlpha: boolean;
}

export const defaultMaxPixels = 16_777_216;

/**
 * Returns format and size of an acceptable image from its header alone, so an image bomb costs no more than a small
 * image. Throws `PAYLOAD_TOO_LARGE`, `CORRUPTED_IMAGE` (also for animations and unknown formats), `IMAGE_TOO_SMALL`,
 * `IMAGE_TOO_LARGE`.
 */
export async function readImageHeader(bytes: Buffer, limits: ImageLimits = {}): Promise<ImageHeader> {
  const param = limits.param ?? null;
  try {
    const sketch = checkSketch(bytes, limits);
    const { width, height, autoOrient, hasAlpha } = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (width !== sketch.width || height !== sketch.height) throw corruptedImage('is damaged');
    return { format: sketch.format, width: autoOrient.width, height: autoOrient.height, hasAlpha };
  } catch (error) {
    if (error instanceof PlatformError) throw new PlatformError(error.code, error.message, param);
    throw corruptedImage('is damaged', param, error);
  }
}

function checkSketch(bytes: Buffer, limits: ImageLimits): ImageSketch {
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
