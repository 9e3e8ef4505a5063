import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EngineEvent, loadFamilyEngine, type TaskEngine } from '#inference';
import { hostLoadOptions } from '#inference/host';
import type { GenerateInput, GenerateOutput, RgbPixels } from '#inference/tasks';
import { decodeImage } from '#media';
import { installedWeights } from './starter-weights.js';

/*
 * The text-to-image model of a fresh installation against its reference: the PyTorch networks with full weights,
 * diffusers' scheduler 0.42.1 and the loops of its pipelines, on the same noise. The installed network has weights in 8
 * bits, so that samples differ by less than one in the mean.
 */

let engine: TaskEngine;
let hear: (event: EngineEvent) => void;

beforeAll(async () => {
  const { folder, manifest } = await installedWeights('pictogram');
  const options = hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads: 2, slots: 1 });
  const loaded = await loadFamilyEngine(options, (events) => events.forEach(([, event]) => hear(event)));
  engine = loaded.engine as TaskEngine;
});
afterAll(() => engine.close());

const side = 128;
const defaults: GenerateInput = {
  prompt: '',
  negativePrompt: '',
  width: side,
  height: side,
  steps: 20,
  guidance: 4,
  seeds: [1],
  image: null,
  strength: 1,
  mask: null,
};

async function generate(input: Partial<GenerateInput>): Promise<RgbPixels[]> {
  return await new Promise((resolve, reject) => {
    hear = (event) => {
      if (event.type === 'failed') reject(new Error(event.error.message));
      else if (event.type === 'task-finished') resolve((event.output as GenerateOutput).images);
    };
    engine.submit({ id: 'one', task: 'generate', input: { ...defaults, ...input } });
  });
}

async function reference(name: string): Promise<RgbPixels> {
  const bytes = await readFile(new URL(`__fixtures__/pictogram/${name}.png`, import.meta.url));
  return await decodeImage(bytes, { channels: 3 });
}

const rightHalf = Uint8Array.from({ length: side * side }, (_, pixel) => Number(pixel % side >= side / 2));

describe('pictogram', () => {
  it.each<[string, Partial<GenerateInput> & { from?: string }]>([
    ['apple', { prompt: 'a red apple', seeds: [7] }],
    ['rocket', { prompt: 'rocket, flat style', negativePrompt: 'green', guidance: 6, steps: 12, seeds: [8] }],
    ['apple-to-orange', { prompt: 'an orange, noto style', seeds: [9], from: 'apple', strength: 0.6 }],
    ['apple-half-blue', { prompt: 'blue apple', seeds: [10], from: 'apple', mask: rightHalf }],
    ['apple-half-soft', { prompt: 'blue apple', seeds: [10], from: 'apple', mask: rightHalf, strength: 0.7 }],
  ])('draws the image of the reference: %s', async (name, { from, ...input }) => {
    const image = from === undefined ? null : await reference(from);
    const [made] = await generate({ ...input, image });
    const { data } = await reference(name);
    const differences = data.map((sample, index) => Math.abs(sample - (made?.data[index] ?? NaN)));
    expect(differences).toHaveLength(side * side * 3);
    expect(differences.reduce((sum, difference) => sum + difference, 0) / differences.length).toBeLessThan(1);
  });

  it('draws the same image for a seed, alone and in any batch', async () => {
    const [first, second, third] = await generate({ prompt: 'a blue fish', seeds: [3, 4, 5] });
    expect(await generate({ prompt: 'a blue fish', seeds: [4] })).toEqual([second]);
    expect(await generate({ prompt: 'a blue fish', seeds: [5, 3] })).toEqual([third, first]);
  });
});
