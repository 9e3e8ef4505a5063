import { fromPixels } from './encode-image.js';
import type { Pixels } from './pixels.js';
import type { Sharp } from './sharp-settings.js';

export interface ResizeOptions {
  width: number;
  height: number;
  /**
   * `fill` changes the aspect ratio, `cover` crops, `contain` adds black bars (transparent with alpha), `inside` fits
   * within the size. Default `fill`.
   */
  fit?: 'fill' | 'cover' | 'contain' | 'inside';
  /** Default `lanczos3`. */
  kernel?: 'nearest' | 'linear' | 'cubic' | 'lanczos2' | 'lanczos3';
}

export async function resizePixels(pixels: Pixels, options: ResizeOptions): Promise<Pixels> {
  const { width, height, fit = 'fill', kernel = 'lanczos3' } = options;
  const background = { r: 0, g: 0, b: 0, alpha: 0 };
  return await run(pixels, (image) =>
    image.resize({ width, height, fit, kernel, background, fastShrinkOnLoad: false }),
  );
}

/** Applies a Gaussian blur; `sigma` in pixels, 0.3 to 1000. */
export async function blurPixels(pixels: Pixels, sigma: number): Promise<Pixels> {
  return await run(pixels, (image) => image.blur(sigma));
}

export interface PixelArea {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The area must be within the image. */
export async function cropPixels(pixels: Pixels, area: PixelArea): Promise<Pixels> {
  return await run(pixels, (image) => image.extract(area));
}

/** Draws `overlay` (RGB and alpha) over an image. */
export async function overlayPixels(
  pixels: Pixels,
  overlay: Pixels,
  { left, top }: { left: number; top: number },
): Promise<Pixels> {
  const { data, width, height, channels } = overlay;
  const input = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return await run(pixels, (image) => image.composite([{ input, raw: { width, height, channels }, left, top }]));
}

async function run(pixels: Pixels, edit: (image: Sharp) => Sharp): Promise<Pixels> {
  const { channels } = pixels;
  const edited = edit(fromPixels(pixels));
  const shaped = channels === 4 ? edited.ensureAlpha() : edited.removeAlpha();
  const coloured = channels === 1 ? shaped.toColourspace('b-w') : shaped;
  const { data, info } = await coloured.raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, channels, data };
}
