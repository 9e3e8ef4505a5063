import { afterAll, describe, expect, it } from 'vitest';
import { type EngineEvent, loadFamilyEngine, type TaskEngine } from '#inference';
import type { ClassifyOutput, MatteOutput, PictureOutput, RgbPixels } from '#inference/host';
import { installedWeights } from './starter-weights.js';

/* Real picture models on pictures drawn here, whose right answer is known. */

const engines: TaskEngine[] = [];

/** Has a model do one task. */
async function ask<Output extends object>(modelId: string, task: string, input: object): Promise<Output> {
  const { folder, manifest } = await installedWeights(modelId);
  let hear: (event: EngineEvent) => void = () => undefined;
  const { engine } = await loadFamilyEngine(
    {
      modelId,
      directory: folder,
      graphFile: manifest.graphFile,
      family: manifest.family,
      familyOptions: manifest.familyOptions ?? {},
      providers: ['cpu'],
      intraOpThreads: 2,
      slots: 1,
      contextLength: 0,
      cacheTokens: 0,
    },
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

/** Means of two by two pixels, as a camera of half the resolution would see. */
function halved({ width, data }: RgbPixels): RgbPixels {
  const at = (x: number, y: number, channel: number): number => data[(y * width + x) * 3 + channel] ?? 0;
  const mean = (x: number, y: number, channel: number): number =>
    (at(x, y, channel) + at(x + 1, y, channel) + at(x, y + 1, channel) + at(x + 1, y + 1, channel)) / 4;
  return drawn(width / 2, (x, y) => [mean(2 * x, 2 * y, 0), mean(2 * x, 2 * y, 1), mean(2 * x, 2 * y, 2)]);
}

/** In dB, away from the rim. */
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

/** Discs, spokes and squares with edges as soft as a lens makes them. */
function detailed(side: number): RgbPixels {
  const sharp = (x: number, y: number): number => {
    const angle = Math.atan2(y - side / 2, x - side / 2);
    const radius = Math.hypot(x - side / 2, y - side / 2);
    if (radius < side / 3) return Math.sin(angle * 14) > 0 ? 220 : 40;
    return (Math.floor(x / 13) + Math.floor(y / 17)) % 3 === 0 ? 200 : 90;
  };
  return drawn(side, (x, y) => {
    let value = 0;
    for (const dx of [-0.375, -0.125, 0.125, 0.375]) {
      for (const dy of [-0.375, -0.125, 0.125, 0.375]) value += sharp(x + dx, y + dy) / 16;
    }
    return [value, 255 - value, value / 2];
  });
}

describe('real picture models', () => {
  it('upscale to what looks the same from afar', async () => {
    const side = 192;
    const whole = detailed(side);
    const half = halved(whole);
    const { picture } = await ask<PictureOutput>('esrgan-slim', 'upscale', { picture: half, scale: 2 });
    expect([picture.width, picture.height]).toEqual([side, side]);
    // Measured on this pattern: 2 dB behind cubic interpolation, and softer; so what is asked is only that it keeps the picture.
    expect(signalToNoise(halved(picture).data, half.data, side / 2)).toBeGreaterThan(20);
  });

  it('cut out what stands in front', async () => {
    const side = 256;
    const isDisc = (x: number, y: number): boolean => Math.hypot(x - side / 2, y - side / 2) < side / 4;
    const picture = drawn(side, (x, y) => (isDisc(x, y) ? [220, 60, 30] : [200, 215, 230]));
    const { width, height, alpha } = await ask<MatteOutput>('u2netp', 'matte', { picture });
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

  it('fill a hole with something else, and touch nothing beyond its rim', async () => {
    const side = 256;
    const isHole = (at: number): boolean =>
      Math.abs((at % side) - 128) < 20 && Math.abs(Math.floor(at / side) - 128) < 20;
    const sky = drawn(side, (x, y) => [90 + (x >> 3), 140, 200 - (y >> 3)]);
    // In the hole lies what has to go.
    const damaged = drawn(side, (x, y) => {
      const at = y * side + x;
      return isHole(at) ? [255, 0, 0] : [sky.data[at * 3] ?? 0, sky.data[at * 3 + 1] ?? 0, sky.data[at * 3 + 2] ?? 0];
    });
    const mask = Uint8Array.from({ length: side * side }, (_, at) => (isHole(at) ? 1 : 0));
    const { picture } = await ask<PictureOutput>('migan', 'inpaint', { picture: damaged, mask });
    // The pipeline of this model blends its filling over a pixel or two of the rim.
    const isAway = (at: number): boolean =>
      Math.abs((at % side) - 128) > 24 || Math.abs(Math.floor(at / side) - 128) > 24;
    let changed = 0;
    let redness = 0;
    for (let at = 0; at < mask.length; at++) {
      const [red = 0, green = 0, blue = 0] = picture.data.subarray(at * 3, at * 3 + 3);
      const before = damaged.data.subarray(at * 3, at * 3 + 3);
      if (isAway(at) && (red !== before[0] || green !== before[1] || blue !== before[2])) changed++;
      if (mask[at] === 1) redness += Math.max(0, red - Math.max(green, blue)) / 1_521;
    }
    expect(changed).toBe(0);
    // What it paints into an even sky is its own idea; what had to go (255) is gone.
    expect(redness).toBeLessThan(40);
  });

  it('judge with probabilities', async () => {
    const picture = drawn(224, (x, y) => [x, y, 128]);
    const { scores } = await ask<ClassifyOutput>('nsfw-mobilenet', 'classify', { picture });
    expect(Object.keys(scores).toSorted()).toEqual(['drawing', 'hentai', 'neutral', 'porn', 'sexy']);
    const values = Object.values(scores);
    expect(values.every((value) => value >= 0 && value <= 1)).toBe(true);
    expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 4);
  });
});
