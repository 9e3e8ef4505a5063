import { type PixelArea, type RgbPixels, wholeArea } from './pixel-grid.js';

export type ResampleFilter = 'bilinear' | 'bicubic' | 'lanczos';

export interface ResampleOptions {
  /** Size of the whole result. */
  width: number;
  height: number;
  filter: ResampleFilter;
  /** Part of the result to compute; default: all of it. */
  area?: PixelArea;
}

/** Rows computed before the event loop may turn. */
const rowsPerStep = 16;

/** Bits of the fraction of a weight. */
const precision = 22;

/** Half the width of a filter, in samples, and its value at a distance. */
export const resampleFilters: Record<ResampleFilter, { support: number; at: (distance: number) => number }> = {
  bilinear: { support: 1, at: (distance) => Math.max(0, 1 - Math.abs(distance)) },
  bicubic: { support: 2, at: (distance) => cubic(Math.abs(distance)) },
  lanczos: { support: 3, at: (distance) => (Math.abs(distance) < 3 ? sinc(distance) * sinc(distance / 3) : 0) },
};

/** Fixed-point weights of the source samples of each new sample, for one axis. */
interface Taps {
  first: Int32Array;
  count: Int32Array;
  /** `stride` weights per new sample. */
  weights: Int32Array;
  stride: number;
}

/**
 * Resizes as Pillow resizes 8-bit images, bit by bit: a filter that widens when the image shrinks, weights of 22 bits,
 * columns before rows and 8 bits between them. A step of the generator computes some rows, so that other work can run
 * in between. Only what `area` needs is computed.
 *
 * Source: `libImaging/Resample.c` of Pillow.
 */
export function* resample(source: RgbPixels, options: ResampleOptions): Generator<void, RgbPixels> {
  const area = options.area ?? wholeArea(options);
  const rows = tapsOf({ from: source.height, to: options.height, start: area.top, length: area.height }, options);
  const firstRow = rows.first[0] ?? 0;
  const last = area.height - 1;
  const rowCount = (rows.first[last] ?? 0) + (rows.count[last] ?? 0) - firstRow;
  const strip: RgbPixels = { width: area.width, height: rowCount, data: new Uint8Array(area.width * rowCount * 3) };
  const columns = tapsOf({ from: source.width, to: options.width, start: area.left, length: area.width }, options);
  const keepsColumns = options.width === source.width;
  for (let row = 0; row < rowCount; row++) {
    if (row % rowsPerStep === 0) yield;
    const from = (row + firstRow) * source.width;
    if (keepsColumns) copyRow(source, { from: from + area.left, strip, row });
    else resampleRow(source, { from, columns, strip, row });
  }
  if (options.height === source.height) return strip;
  const result: RgbPixels = {
    width: area.width,
    height: area.height,
    data: new Uint8Array(area.width * area.height * 3),
  };
  for (let row = 0; row < area.height; row++) {
    if (row % rowsPerStep === 0) yield;
    joinRows(strip, { rows, firstRow, result, row });
  }
  return result;
}

function copyRow(source: RgbPixels, { from, strip, row }: { from: number; strip: RgbPixels; row: number }): void {
  strip.data.set(source.data.subarray(from * 3, (from + strip.width) * 3), row * strip.width * 3);
}

function resampleRow(
  { data }: RgbPixels,
  { from, columns, strip, row }: { from: number; columns: Taps; strip: RgbPixels; row: number },
): void {
  const { first, count, weights, stride } = columns;
  let to = row * strip.width * 3;
  for (let column = 0; column < strip.width; column++, to += 3) {
    let at = (from + (first[column] as number)) * 3;
    let red = 1 << (precision - 1);
    let green = red;
    let blue = red;
    const start = column * stride;
    const end = start + (count[column] as number);
    for (let tap = start; tap < end; tap++, at += 3) {
      const weight = weights[tap] as number;
      red += (data[at] as number) * weight;
      green += (data[at + 1] as number) * weight;
      blue += (data[at + 2] as number) * weight;
    }
    strip.data[to] = sampleOf(red);
    strip.data[to + 1] = sampleOf(green);
    strip.data[to + 2] = sampleOf(blue);
  }
}

function joinRows(
  { width, data }: RgbPixels,
  { rows, firstRow, result, row }: { rows: Taps; firstRow: number; result: RgbPixels; row: number },
): void {
  const length = width * 3;
  const start = ((rows.first[row] as number) - firstRow) * length;
  const count = rows.count[row] as number;
  for (let sample = 0; sample < length; sample++) {
    let sum = 1 << (precision - 1);
    for (let tap = 0, at = start + sample; tap < count; tap++, at += length) {
      sum += (data[at] as number) * (rows.weights[row * rows.stride + tap] as number);
    }
    result.data[row * length + sample] = sampleOf(sum);
  }
}

function sampleOf(sum: number): number {
  const sample = sum >> precision;
  if (sample < 0) return 0;
  return sample > 255 ? 255 : sample;
}

function tapsOf(
  { from, to, start, length }: { from: number; to: number; start: number; length: number },
  { filter }: ResampleOptions,
): Taps {
  const { support, at } = resampleFilters[filter];
  const scale = from / to;
  const widening = Math.max(1, scale);
  const reach = support * widening;
  const stride = Math.ceil(reach) * 2 + 1;
  const taps = { first: new Int32Array(length), count: new Int32Array(length), stride };
  const weights = new Int32Array(length * stride);
  for (let position = 0; position < length; position++) {
    const center = (start + position + 0.5) * scale;
    const first = Math.max(0, Math.trunc(center - reach + 0.5));
    const count = Math.min(from, Math.trunc(center + reach + 0.5)) - first;
    const values = Array.from({ length: count }, (_, tap) => at((tap + first - center + 0.5) / widening));
    const sum = values.reduce((total, value) => total + value, 0);
    values.forEach((value, tap) => (weights[position * stride + tap] = fixedPoint(sum === 0 ? value : value / sum)));
    taps.first[position] = first;
    taps.count[position] = count;
  }
  return { ...taps, weights };
}

/** Rounds half away from zero. */
function fixedPoint(weight: number): number {
  return Math.trunc(weight * (1 << precision) + (weight < 0 ? -0.5 : 0.5));
}

function cubic(distance: number): number {
  if (distance < 1) return (1.5 * distance - 2.5) * distance * distance + 1;
  return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * -0.5 : 0;
}

function sinc(value: number): number {
  return value === 0 ? 1 : Math.sin(value * Math.PI) / (value * Math.PI);
}
