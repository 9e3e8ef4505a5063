import { readFile } from 'node:fs/promises';
import type { RgbPixels } from '#inference/tasks';
import { decodeImage } from '#media';
import names from './__fixtures__/pictogram/drawings.json' with { type: 'json' };

const hues = { red: 0, orange: 28, yellow: 52, green: 120, teal: 175, blue: 215, purple: 275, pink: 328 };

const gap = (one: number, other: number): number => Math.abs(((((one - other + 180) % 360) + 360) % 360) - 180);

/** Hue in degrees, saturation and value of each pixel that is not white. */
function ink({ data }: RgbPixels): { hue: number; saturation: number; value: number }[] {
  const pixels = [];
  for (let at = 0; at < data.length; at += 3) {
    const [red, green, blue] = [0, 1, 2].map((channel) => (data[at + channel] ?? 0) / 255) as [number, number, number];
    const [value, low] = [Math.max(red, green, blue), Math.min(red, green, blue)];
    if (low >= 0.92) continue;
    const span = value - low;
    const sixth =
      value === red ? (green - blue) / span : value === green ? (blue - red) / span + 2 : (red - green) / span + 4;
    pixels.push({ hue: span === 0 ? 0 : (sixth * 60 + 360) % 360, saturation: span / Math.max(value, 1e-6), value });
  }
  return pixels;
}

/** Returns the color of most of the drawing, by the rule that wrote the captions of its training; null if it has none. */
export function mainColour(image: RgbPixels): string | null {
  const pixels = ink(image);
  const vivid = pixels.filter(({ saturation, value }) => saturation > 0.3 && value > 0.25);
  if (vivid.length < 0.35 * pixels.length) return null;
  const weights = new Float64Array(36);
  for (const { hue, saturation } of vivid)
    weights[Math.floor(hue / 10)] = (weights[Math.floor(hue / 10)] ?? 0) + saturation;
  const smooth = weights.map((weight, at) => weight + (weights[(at + 1) % 36] ?? 0) + (weights[(at + 35) % 36] ?? 0));
  const main = (smooth.indexOf(Math.max(...smooth)) + 0.5) * 10;
  if (vivid.filter(({ hue }) => gap(hue, main) < 25).length < 0.4 * pixels.length) return null;
  return Object.entries(hues).reduce((best, each) => (gap(each[1], main) < gap(best[1], main) ? each : best))[0];
}

const thumbnailSide = 16;
const sheetColumns = 54;

/** The drawings that pictogram learned from, at 16 × 16 pixels: which of them an image resembles most. */
export class TrainingDrawings {
  private constructor(
    readonly names: readonly string[],
    private readonly thumbnails: readonly Float32Array[],
  ) {}

  static async read(): Promise<TrainingDrawings> {
    const bytes = await readFile(new URL('__fixtures__/pictogram/drawings.webp', import.meta.url));
    const sheet = await decodeImage(bytes, { channels: 3 });
    const cut = (index: number): Float32Array => {
      const left = (index % sheetColumns) * thumbnailSide;
      const top = Math.floor(index / sheetColumns) * thumbnailSide;
      return Float32Array.from({ length: thumbnailSide ** 2 * 3 }, (_, at) => {
        const row = top + Math.floor(at / (thumbnailSide * 3));
        return sheet.data[(row * sheet.width + left) * 3 + (at % (thumbnailSide * 3))] ?? NaN;
      });
    };
    return new TrainingDrawings(
      names,
      names.map((_, index) => cut(index)),
    );
  }

  /** Returns the nearest drawings, and the root mean squared difference of each, of 0 to 1. */
  nearest(image: RgbPixels, count: number): { name: string; distance: number }[] {
    const wanted = thumbnailOf(image);
    return this.thumbnails
      .map((thumbnail, index) => ({ name: this.names[index] ?? '', distance: distanceOf(thumbnail, wanted) }))
      .toSorted((one, other) => one.distance - other.distance)
      .slice(0, count);
  }
}

function thumbnailOf({ width, height, data }: RgbPixels): Float32Array {
  const [stepX, stepY] = [width / thumbnailSide, height / thumbnailSide];
  const means = new Float32Array(thumbnailSide ** 2 * 3);
  data.forEach((sample, at) => {
    const [pixel, channel] = [Math.floor(at / 3), at % 3];
    const [column, row] = [Math.floor((pixel % width) / stepX), Math.floor(Math.floor(pixel / width) / stepY)];
    const index = (row * thumbnailSide + column) * 3 + channel;
    means[index] = (means[index] ?? 0) + sample / (stepX * stepY);
  });
  return means;
}

function distanceOf(one: Float32Array, other: Float32Array): number {
  const sum = one.reduce((total, value, index) => total + (value - (other[index] ?? NaN)) ** 2, 0);
  return Math.sqrt(sum / one.length) / 255;
}
