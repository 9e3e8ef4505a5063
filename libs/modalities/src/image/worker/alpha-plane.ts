import type { RgbPixels } from '#inference/tasks';
import { type FrameSize, type Pixels, resizePixels } from '#media';

/** Whether any pixel of an image with four channels is not fully opaque. */
export function hasTransparency({ data }: Pixels): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return true;
  return false;
}

/** Joins colors with the alpha of another image, which is stretched to their size. */
export async function withAlphaOf(image: Pixels, colors: RgbPixels): Promise<Pixels> {
  const { width, height } = colors;
  const alpha = await stretchedAlpha(image, { width, height });
  const data = new Uint8Array(width * height * 4);
  for (let pixel = 0; pixel < width * height; pixel++) {
    for (let channel = 0; channel < 3; channel++)
      data[pixel * 4 + channel] = colors.data[pixel * 3 + channel] as number;
    data[pixel * 4 + 3] = alpha[pixel] as number;
  }
  return { width, height, channels: 4, data };
}

async function stretchedAlpha({ width, height, data }: Pixels, size: FrameSize): Promise<Uint8Array> {
  const alpha = Uint8Array.from({ length: width * height }, (_, pixel) => data[pixel * 4 + 3] as number);
  return (await resizePixels({ width, height, channels: 1, data: alpha }, { ...size, kernel: 'cubic' })).data;
}

/**
 * Returns the colors of an image with four channels without its alpha. Invisible pixels hold any color, mostly black,
 * that a network would mix into the edges beside them; they get the color of visible pixels near them.
 */
export function visibleColors({ width, height, data }: Pixels): RgbPixels {
  const colors = new Uint8Array(width * height * 3);
  const known = new Uint8Array(width * height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    for (let channel = 0; channel < 3; channel++) colors[pixel * 3 + channel] = data[pixel * 4 + channel] as number;
    known[pixel] = Number((data[pixel * 4 + 3] as number) > 0);
  }
  spreadColors({ width, height, colors, known });
  return { width, height, data: colors };
}

/** An image at one scale: colors, and 1 for each pixel that has one. */
interface ColorLevel extends FrameSize {
  colors: Uint8Array;
  known: Uint8Array;
}

/** Fills unknown pixels with the mean of the smallest block around them that has a color: linear in the pixels. */
function spreadColors({ width, height, colors, known }: ColorLevel): void {
  if (width * height === 1 || !known.includes(0)) return;
  const coarse = halved({ width, height, colors, known });
  spreadColors(coarse);
  for (let pixel = 0; pixel < width * height; pixel++) {
    if (known[pixel] === 1) continue;
    const from = parentOf(pixel, width, coarse.width) * 3;
    for (let channel = 0; channel < 3; channel++) colors[pixel * 3 + channel] = coarse.colors[from + channel] as number;
  }
}

/** Each pixel is the mean of the known ones among the four that it covers. */
function halved({ width, height, colors, known }: ColorLevel): ColorLevel {
  const half = { width: Math.ceil(width / 2), height: Math.ceil(height / 2) };
  const pixels = half.width * half.height;
  const counts = new Uint8Array(pixels);
  const sums = new Uint16Array(pixels * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    if (known[pixel] === 0) continue;
    const to = parentOf(pixel, width, half.width);
    counts[to] = (counts[to] as number) + 1;
    for (let channel = 0; channel < 3; channel++) {
      sums[to * 3 + channel] = (sums[to * 3 + channel] as number) + (colors[pixel * 3 + channel] as number);
    }
  }
  return {
    ...half,
    colors: Uint8Array.from(sums, (sum, at) => Math.round(sum / Math.max(1, counts[Math.floor(at / 3)] as number))),
    known: counts.map((count) => Number(count > 0)),
  };
}

/** Index of the pixel that covers another one at half the scale. */
function parentOf(pixel: number, width: number, halfWidth: number): number {
  const row = Math.floor(pixel / width);
  return (row >> 1) * halfWidth + ((pixel - row * width) >> 1);
}
