import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { type EngineEvent, loadFamilyEngine, type TaskEngine } from '#inference';
import { hostLoadOptions } from '#inference/host';
import type { ClassifyOutput, MatteOutput, ImageOutput, RgbPixels } from '#inference/tasks';
import { decodeImage, resizePixels } from '#media';
import { installedWeights } from './starter-weights.js';

/* Real image models on generated images with a known correct result. */

const engines: TaskEngine[] = [];

/** Runs one task on a model. */
async function ask<Output extends object>(modelId: string, task: string, input: object): Promise<Output> {
  const { folder, manifest } = await installedWeights(modelId);
  let hear: (event: EngineEvent) => void = () => undefined;
  const { engine } = await loadFamilyEngine(
    hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads: 2, slots: 1 }),
    (events) => events.forEach(([, event]) => hear(event)),
  );
  engines.push(engine as TaskEngine);
  return await new Promise<Output>((resolve, reject) => {
    hear = (event) => {
      if (event.type === 'failed') reject(new Error(event.error.message));
      else if (event.type === 'task-finished') resolve(event.output as Output);
    };
    (engine as TaskEngine).submit({ id: 'one', task, input });
  });
}

afterAll(async () => {
  for (const engine of engines) await engine.close();
});

type Colour = readonly [number, number, number];

function drawn(side: number, colourAt: (x: number, y: number) => Colour): RgbPixels {
  const data = new Uint8Array(side * side * 3);
  for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) data.set(colourAt(x, y), (y * side + x) * 3);
  return { width: side, height: side, data };
}

/** Averages blocks of two by two pixels, like a camera of half the resolution. */
function halved({ width, data }: RgbPixels): RgbPixels {
  const at = (x: number, y: number, channel: number): number => data[(y * width + x) * 3 + channel] ?? 0;
  const mean = (x: number, y: number, channel: number): number =>
    (at(x, y, channel) + at(x + 1, y, channel) + at(x, y + 1, channel) + at(x + 1, y + 1, channel)) / 4;
  return drawn(width / 2, (x, y) => [mean(2 * x, 2 * y, 0), mean(2 * x, 2 * y, 1), mean(2 * x, 2 * y, 2)]);
}

/** PSNR in dB, excluding the border. */
function signalToNoise(left: Uint8Array, right: Uint8Array, side: number): number {
  const rim = 8;
  let sum = 0;
  let count = 0;
  for (let at = 0; at < left.length; at++) {
    const pixel = Math.floor(at / 3);
    const [x, y] = [pixel % side, Math.floor(pixel / side)];
    if (Math.min(x, y) < rim || Math.max(x, y) >= side - rim) continue;
    sum += ((left[at] ?? 0) - (right[at] ?? 0)) ** 2;
    count++;
  }
  return 10 * Math.log10(255 ** 2 / (sum / count));
}

/** A photograph (credited in NOTICE), because drawings lack its detail. */
async function photograph(): Promise<RgbPixels> {
  const bytes = await readFile(new URL('__fixtures__/portrait.png', import.meta.url));
  return await decodeImage(bytes, { channels: 3 });
}

/** Averages blocks of pixels, like a camera of lower resolution. */
function shrunk(whole: RgbPixels, scale: 2 | 4): RgbPixels {
  return scale === 2 ? halved(whole) : halved(halved(whole));
}

describe('real image models', () => {
  // Measured: 29.9 dB against 27.1 with cubic interpolation, and 25.1 against 24.5.
  it.each([
    { scale: 2, betterBy: 2 },
    { scale: 4, betterBy: 0.4 },
  ] as const)('upscale a photograph by $scale, closer to the original than cubic interpolation', async (options) => {
    const { scale, betterBy } = options;
    const whole = await photograph();
    const small = shrunk(whole, scale);
    const { image } = await ask<ImageOutput>('esrgan-slim', 'upscale', { image: small, scale });
    expect([image.width, image.height]).toEqual([whole.width, whole.height]);
    const { width, height } = whole;
    const cubic = await resizePixels({ ...small, channels: 3 }, { width, height, kernel: 'cubic' });
    const [ofModel, ofCubic] = [image, cubic].map(({ data }) => signalToNoise(data, whole.data, whole.width));
    expect(ofModel).toBeGreaterThan((ofCubic ?? NaN) + betterBy);
  });

  it('cut out the foreground', async () => {
    const side = 256;
    const isDisc = (x: number, y: number): boolean => Math.hypot(x - side / 2, y - side / 2) < side / 4;
    const image = drawn(side, (x, y) => (isDisc(x, y) ? [220, 60, 30] : [200, 215, 230]));
    const { width, height, alpha } = await ask<MatteOutput>('u2netp', 'matte', { image });
    expect([width, height]).toEqual([side, side]);
    let both = 0;
    let either = 0;
    for (let pixel = 0; pixel < side * side; pixel++) {
      const isFront = (alpha[pixel] ?? 0) >= 128;
      const isWanted = isDisc(pixel % side, Math.floor(pixel / side));
      if (isFront && isWanted) both++;
      if (isFront || isWanted) either++;
    }
    expect(both / either).toBeGreaterThan(0.9);
  });

  it('fill a masked area to match its surroundings, and keep the rest bit-identical', async () => {
    const side = 256;
    const isGap = (at: number): boolean =>
      Math.abs((at % side) - 128) < 20 && Math.abs(Math.floor(at / side) - 128) < 20;
    const sky = drawn(side, (x, y) => [90 + (x >> 3), 140, 200 - (y >> 3)]);
    // The mask covers what should be removed.
    const damaged = drawn(side, (x, y) => {
      const at = y * side + x;
      return isGap(at) ? [255, 0, 0] : [sky.data[at * 3] ?? 0, sky.data[at * 3 + 1] ?? 0, sky.data[at * 3 + 2] ?? 0];
    });
    const mask = Uint8Array.from({ length: side * side }, (_, at) => (isGap(at) ? 1 : 0));
    const { image } = await ask<ImageOutput>('migan', 'inpaint', { image: damaged, mask });
    let changed = 0;
    let farthest = 0;
    image.data.forEach((sample, at) => {
      if (mask[Math.floor(at / 3)] === 0) changed += sample === damaged.data[at] ? 0 : 1;
      else farthest = Math.max(farthest, Math.abs(sample - (sky.data[at] ?? NaN)));
    });
    expect(changed).toBe(0);
    // What was removed is red, over a hundred away: none of it is left, not even at the border.
    expect(farthest).toBeLessThan(12);
  });

  it('classify images with probabilities', async () => {
    const image = drawn(224, (x, y) => [x, y, 128]);
    const { scores } = await ask<ClassifyOutput>('nsfw-mobilenet', 'classify', { image });
    expect(Object.keys(scores).toSorted()).toEqual(['drawing', 'hentai', 'neutral', 'porn', 'sexy']);
    const values = Object.values(scores);
    expect(values.every((value) => value >= 0 && value <= 1)).toBe(true);
    expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 4);
  });
});
