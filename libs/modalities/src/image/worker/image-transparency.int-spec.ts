import { describe, expect, it } from 'vitest';
import type { TaskRunner } from '#inference/host';
import type { GenerateInput, RgbPixels, UpscaleInput } from '#inference/tasks';
import { decodeImage, encodeImage, type Pixels } from '#media';
import { type ImageJobPayload, type ImageOperation, plainImage } from '../contract/index.js';
import { makeImages } from './image-operations.js';

const [width, height] = [16, 8];
const red = [200, 30, 30];

/** Left quarter invisible, next quarter half transparent, the rest opaque; the color is the same, hidden or not. */
const alphaAt = (column: number): number => (column < 4 ? 0 : column < 8 ? 140 : 255);
const sticker = painted((column) => [...red, alphaAt(column)]);
/** Masks the columns 6 to 9: half transparent and opaque ones. */
const isMasked = (column: number): boolean => column >= 6 && column < 10;
const mask = painted((column) => (isMasked(column) ? [0, 0, 0, 0] : [9, 9, 9, 255]));

function painted(colorAt: (column: number) => number[]): Pixels {
  const data = Uint8Array.from({ length: width * height * 4 }, (_, at) => {
    return colorAt(Math.floor(at / 4) % width)[at % 4] ?? 0;
  });
  return { width, height, channels: 4, data };
}

/** A network for every task: doubles what it gets, and paints blue what it makes anew. */
const network: TaskRunner = {
  runTask: async ({ task, input }) => ({ cancelled: false, output: answers[task]?.(input as never) ?? null }),
};
const blue = (): RgbPixels => ({
  width,
  height,
  data: Uint8Array.from({ length: width * height * 3 }, (_, at) => [0, 0, 250][at % 3] ?? 0),
});
const answers: Record<string, (input: never) => object> = {
  upscale: ({ image, scale }: UpscaleInput) => ({ image: enlarged(image, scale) }),
  matte: () => ({ width, height, alpha: new Uint8Array(width * height).fill(200) }),
  inpaint: () => ({ image: blue() }),
  generate: ({ seeds }: GenerateInput) => ({ images: seeds.map(blue) }),
};

function enlarged(image: RgbPixels, scale: number): RgbPixels {
  const size = { width: image.width * scale, height: image.height * scale };
  const data = Uint8Array.from({ length: size.width * size.height * 3 }, (_, at) => {
    const pixel = Math.floor(at / 3);
    const column = Math.floor((pixel % size.width) / scale);
    const row = Math.floor(pixel / size.width / scale);
    return image.data[(row * image.width + column) * 3 + (at % 3)] as number;
  });
  return { ...size, data };
}

/** What an operation promises about a column of its result, from 0 to 1: color and alpha. */
interface Promised {
  family: string;
  payload?: Partial<ImageJobPayload>;
  inputs: Pixels[];
  at: (column: number) => number[];
  /** Difference that a resampled plane may have. */
  tolerance?: number;
}

const kept = (column: number): number[] => [...red, alphaAt(column)];
const redrawn: Partial<ImageJobPayload> = { width, height, prompt: 'blue' };
const maskedEdit = {
  payload: { ...redrawn, mask: 'transparent' },
  inputs: [sticker, mask],
  at: (column: number) => (isMasked(column) ? [0, 0, 250, 255] : kept(column)),
} as const;

/** Every operation that returns an image of an image; a new one does not compile until it is promised something. */
const promises: Record<Exclude<ImageOperation, 'generate' | 'describe' | 'classify'>, Record<string, Promised>> = {
  upscale: {
    'keeps color and transparency': {
      family: 'esrgan',
      payload: { scale: 2 },
      inputs: [sticker],
      at: kept,
      tolerance: 12,
    },
  },
  'remove-background': {
    'adds to the transparency': {
      family: 'u2net',
      inputs: [sticker],
      at: (column) => [...red, Math.min(200, alphaAt(column))],
    },
  },
  edit: {
    'fills the transparent part, and keeps half transparent pixels': {
      family: 'migan',
      inputs: [sticker],
      at: (column) => (column < 4 ? [0, 0, 250, 255] : kept(column)),
    },
    'fills a mask, and keeps all other pixels': { family: 'migan', ...maskedEdit, inputs: [...maskedEdit.inputs] },
    'redraws a mask, and keeps all other pixels': {
      family: 'stable-diffusion',
      ...maskedEdit,
      inputs: [...maskedEdit.inputs],
    },
    'redraws the whole image by words, opaque': {
      family: 'stable-diffusion',
      payload: redrawn,
      inputs: [sticker],
      at: () => [0, 0, 250, 255],
    },
  },
};

const cases = Object.entries(promises).flatMap(([operation, behaviors]) =>
  Object.entries(behaviors).map(([name, promised]) => ({ operation: operation as ImageOperation, name, promised })),
);

describe.each(['png', 'webp'] as const)('a transparent %s', (format) => {
  it.each(cases)('$operation $name', async ({ operation, promised }) => {
    const { family, payload, inputs, at, tolerance = 0 } = promised;
    const files = await Promise.all(inputs.map((pixels) => encodeImage(pixels, { format, lossless: true })));
    const decoded = await Promise.all(files.map((bytes) => decodeImage(bytes, { channels: 4 })));
    const job = { payload: { ...plainImage(operation, ['a'], 1), ...payload }, inputs: decoded, seeds: [1], family };
    const run = { runner: network, upscaler: null, id: 'r', options: { signal: new AbortController().signal } };
    const [made] = (await makeImages(job, run)) ?? [];
    const sent = await encodeImage(made ?? expect.fail('cancelled'), { format: 'png' });
    const result = await decodeImage(sent, { channels: 4 });
    const scale = result.width / width;
    for (let pixel = 0; pixel < result.width * result.height; pixel++) {
      const column = Math.floor((pixel % result.width) / scale);
      // Alpha is resampled smoothly over the border between two parts.
      if (tolerance > 0 && [3, 4, 7, 8].includes(column)) continue;
      const expected = at(column);
      const found = [...result.data.subarray(pixel * 4, pixel * 4 + 4)];
      // WebP drops the color of invisible pixels.
      if (expected[3] === 0 && format === 'webp') expected.splice(0, 3, ...found.slice(0, 3));
      const differences = found.map((sample, channel) => Math.abs(sample - (expected[channel] as number)));
      expect(Math.max(...differences), `pixel ${pixel}: ${found.join()} for ${expected.join()}`).toBeLessThanOrEqual(
        tolerance,
      );
    }
  });
});

it('gives invisible pixels the color of visible ones beside them before a network sees them', async () => {
  const hidden = painted((column) => (column < 8 ? [0, 0, 0, 0] : [...red, 255]));
  let seen: RgbPixels | null = null;
  const runner: TaskRunner = {
    runTask: async ({ input }) => {
      seen = (input as UpscaleInput).image;
      return { cancelled: false, output: { image: enlarged(seen, 2) } };
    },
  };
  const job = { payload: plainImage('upscale', ['a'], 1), inputs: [hidden], seeds: [1], family: 'esrgan' };
  await makeImages(job, { runner, upscaler: null, id: 'r', options: { signal: new AbortController().signal } });
  const colors = [...((seen as RgbPixels | null)?.data ?? [])];
  expect(colors.every((sample, at) => sample === red[at % 3])).toBe(true);
});
