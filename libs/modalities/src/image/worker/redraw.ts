import type { RgbPixels } from '#inference/tasks';
import { type FrameSize, type Pixels, resizePixels } from '#media';
import type { MaskKind } from '../contract/index.js';

/** Alpha below this counts as transparent. */
export const transparentBelow = 128;
const whiteFrom = 3 * 128;

/** Composited over white, as a viewer shows it. */
export function opaque({ width, height, data }: Pixels): RgbPixels {
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const alpha = data[pixel * 4 + 3] as number;
    for (let channel = 0; channel < 3; channel++) {
      const sample = data[pixel * 4 + channel] as number;
      rgb[pixel * 3 + channel] = alpha === 255 ? sample : Math.round((sample * alpha) / 255 + 255 - alpha);
    }
  }
  return { width, height, data: rgb };
}

/** Returns 1 for each pixel that a mask selects, of a size that the mask is stretched to. */
export async function maskedPixels(mask: Pixels, kind: MaskKind, size: FrameSize): Promise<Uint8Array> {
  const { data } = await resizePixels(mask, { width: size.width, height: size.height, kernel: 'nearest' });
  return Uint8Array.from({ length: size.width * size.height }, (_, pixel) => {
    const isTransparent = (data[pixel * 4 + 3] as number) < transparentBelow;
    const light = [0, 1, 2].reduce((sum, channel) => sum + (data[pixel * 4 + channel] as number), 0);
    return Number(kind === 'transparent' ? isTransparent : !isTransparent && light >= whiteFrom);
  });
}

/** Fits an image into another shape, with white beside it. */
export async function fitted(image: Pixels, { width, height }: FrameSize): Promise<RgbPixels> {
  return opaque(await resizePixels(image, { width, height, fit: 'contain' }));
}

/** Fits a mask as `fitted` does; a pixel is masked if any part of it was. */
export async function fittedMask(mask: Uint8Array, from: FrameSize, { width, height }: FrameSize): Promise<Uint8Array> {
  const data = new Uint8Array(from.width * from.height * 4);
  mask.forEach((value, pixel) => data.fill(value === 0 ? 0 : 255, pixel * 4, pixel * 4 + 4));
  const image: Pixels = { width: from.width, height: from.height, channels: 4, data };
  const resized = await resizePixels(image, { width, height, fit: 'contain', kernel: 'linear' });
  return Uint8Array.from({ length: width * height }, (_, pixel) => Number((resized.data[pixel * 4 + 3] as number) > 0));
}

/** Undoes `fitted`: returns the part of an image that is not beside the original, at the wanted size. */
export async function unfitted(image: Pixels, { width, height }: FrameSize): Promise<Pixels> {
  if (image.width === width && image.height === height) return image;
  return await resizePixels(image, { width, height, fit: 'cover' });
}

/**
 * Puts the pixels of an original with four channels back where nothing was masked, with their alpha. What was made is
 * opaque, and so is the result unless a transparent pixel is kept. Both images have one size.
 */
export function keepUnmasked(redrawn: Pixels, original: Pixels, mask: Uint8Array): Pixels {
  const channels = mask.some((value, pixel) => value === 0 && original.data[pixel * 4 + 3] !== 255) ? 4 : 3;
  const data = new Uint8Array(mask.length * channels);
  for (let pixel = 0; pixel < mask.length; pixel++) {
    const { data: from, channels: step } = mask[pixel] === 0 ? original : redrawn;
    for (let channel = 0; channel < channels; channel++) {
      data[pixel * channels + channel] = channel < step ? (from[pixel * step + channel] as number) : 255;
    }
  }
  return { ...redrawn, channels, data };
}
