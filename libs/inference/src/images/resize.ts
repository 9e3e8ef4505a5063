import { freeBytes } from '#platform/memory';
import type { RgbPixels } from './pixel-grid.js';
import { type ResampleFilter, resampleFilters } from './resample.js';

/** Float planes, `[channels, height, width]`. */
export interface Planes {
  channels: number;
  width: number;
  height: number;
  data: Float32Array;
}

/** Source samples of each new sample, for one axis. */
interface Taps {
  first: Int32Array;
  /** `count` weights per new sample. */
  weights: Float32Array;
  count: number;
}

/**
 * Resizes with a filter that widens when the image shrinks; equals Pillow's on floats, which may leave the range of the
 * source beside edges with all filters but `bilinear`.
 * Intermediate data is never larger than both images. The other axis order would make an image of 1 by 16,000,000
 * hundreds of times larger before it shrinks.
 */
export function resizePlanes(
  source: Planes,
  width: number,
  height: number,
  filter: ResampleFilter = 'bilinear',
): Planes {
  const isFlattened = width > source.width && height < source.height;
  const between = isFlattened ? resizeRows(source, height, filter) : resizeColumns(source, width, filter);
  const resized = isFlattened ? resizeColumns(between, width, filter) : resizeRows(between, height, filter);
  if (between !== source && between !== resized) freeBytes(between.data);
  return resized;
}

function resizeColumns(source: Planes, width: number, filter: ResampleFilter): Planes {
  if (source.width === width) return source;
  const { channels, height } = source;
  const columns = taps(source.width, width, filter);
  const data = new Float32Array(channels * height * width);
  for (let row = 0; row < channels * height; row++) {
    for (let x = 0; x < width; x++) {
      const start = row * source.width + (columns.first[x] as number);
      let sum = 0;
      for (let tap = 0; tap < columns.count; tap++) {
        sum += (source.data[start + tap] as number) * (columns.weights[x * columns.count + tap] as number);
      }
      data[row * width + x] = sum;
    }
  }
  return { channels, width, height, data };
}

function resizeRows(source: Planes, height: number, filter: ResampleFilter): Planes {
  if (source.height === height) return source;
  const { channels, width } = source;
  const rows = taps(source.height, height, filter);
  const data = new Float32Array(channels * height * width);
  for (let channel = 0; channel < channels; channel++) {
    for (let y = 0; y < height; y++) {
      const start = (channel * source.height + (rows.first[y] as number)) * width;
      const to = (channel * height + y) * width;
      for (let tap = 0; tap < rows.count; tap++) {
        const weight = rows.weights[y * rows.count + tap] as number;
        const from = start + tap * width;
        for (let x = 0; x < width; x++)
          data[to + x] = (data[to + x] as number) + (source.data[from + x] as number) * weight;
      }
    }
  }
  return { channels, width, height, data };
}

/** Returns the samples of an image as planes, unscaled: 0 to 255. */
export function samplePlanes({ width, height, data }: RgbPixels): Planes {
  const plane = width * height;
  const planes = new Float32Array(3 * plane);
  for (let pixel = 0; pixel < plane; pixel++) {
    for (let channel = 0; channel < 3; channel++) planes[channel * plane + pixel] = data[pixel * 3 + channel] as number;
  }
  return { channels: 3, width, height, data: planes };
}

/**
 * Returns the taps of every new sample. All have as many as the widest, inside the axis; unneeded taps have weight 0.
 */
function taps(from: number, to: number, filter: ResampleFilter): Taps {
  const { support, at } = resampleFilters[filter];
  const scale = from / to;
  const widening = Math.max(1, scale);
  const reach = support * widening;
  const count = Math.min(from, Math.ceil(reach) * 2 + 1);
  const first = new Int32Array(to);
  const weights = new Float32Array(to * count);
  for (let position = 0; position < to; position++) {
    const center = (position + 0.5) * scale;
    const start = Math.max(0, Math.min(from - count, Math.floor(center - reach + 0.5)));
    first[position] = start;
    let sum = 0;
    for (let tap = 0; tap < count; tap++) {
      const weight = at((start + tap + 0.5 - center) / widening);
      weights[position * count + tap] = weight;
      sum += weight;
    }
    for (let tap = 0; tap < count; tap++)
      weights[position * count + tap] = (weights[position * count + tap] as number) / sum;
  }
  return { first, weights, count };
}
