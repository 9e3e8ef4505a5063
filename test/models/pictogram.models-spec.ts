import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EngineEvent, loadFamilyEngine, type TaskEngine } from '#inference';
import { hostLoadOptions } from '#inference/host';
import type { GenerateInput, GenerateOutput, RgbPixels } from '#inference/tasks';
import { decodeImage } from '#media';
import figures from '../../tools/train/pictogram/figures.json' with { type: 'json' };
import { mainColour, TrainingDrawings } from './drawing-measures.js';
import { installedWeights } from './starter-weights.js';

/*
 * The text-to-image model of a fresh installation against its reference, tools/reference/pictogram.py: the same networks
 * with the scheduler of diffusers 0.42.1 and the loops of its pipelines, on the same noise.
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
    ['apple-variation', { prompt: '', seeds: [11], from: 'apple', strength: 0.6 }],
  ])('draws the image of the reference: %s', async (name, { from, ...input }) => {
    const image = from === undefined ? null : await reference(from);
    const [made] = await generate({ ...input, image });
    const { data } = await reference(name);
    const differences = data.map((sample, index) => Math.abs(sample - (made?.data[index] ?? NaN)));
    expect(differences).toHaveLength(side * side * 3);
    expect(differences.reduce((sum, difference) => sum + difference, 0) / differences.length).toBeLessThan(0.02);
  });

  it('draws the same image for a seed, alone and in any batch', async () => {
    const [first, second, third] = await generate({ prompt: 'a blue fish', seeds: [3, 4, 5] });
    expect(await generate({ prompt: 'a blue fish', seeds: [4] })).toEqual([second]);
    expect(await generate({ prompt: 'a blue fish', seeds: [5, 3] })).toEqual([third, first]);
  });

  it('draws things in colours in which it never saw them', async () => {
    const pairs = [
      'blue apple',
      'green car',
      'purple banana',
      'pink frog',
      'blue fire',
      'green rocket',
      'purple cat',
      'red frog',
      'blue strawberry',
      'yellow car',
      'pink whale',
      'blue dog',
    ];
    const found: string[] = [];
    for (const pair of pairs) {
      const [image] = await generate({ prompt: `a ${pair}`, seeds: [3] });
      found.push(`${mainColour(image ?? expect.fail('no image'))} ${pair.split(' ')[1]}`);
    }
    // All of them when the model was measured; a change of its weights or kernels may move one.
    expect(found.filter((each, index) => each === pairs[index]).length, found.join(', ')).toBeGreaterThanOrEqual(11);
  });
});

/*
 * Figures of the model card. Eight steps instead of twenty: the bounds were measured with them, less two or three images
 * that other kernels may draw otherwise.
 */
describe('what pictogram draws', () => {
  let drawings: TrainingDrawings;
  beforeAll(async () => {
    drawings = await TrainingDrawings.read();
  });

  const draw = async (prompt: string): Promise<RgbPixels> => {
    const [image] = await generate({ prompt, steps: 8, seeds: [3] });
    return image ?? expect.fail('no image');
  };

  it('resembles the drawings of the thing that was asked for, and is no copy of one', async () => {
    const things = [...new Set(drawings.names)].toSorted().filter((_, index) => index % 40 === 0);
    const found: string[] = [];
    const distances: number[] = [];
    for (const thing of things) {
      const nearest = drawings.nearest(await draw(thing), 5);
      if (nearest.some(({ name }) => name === thing)) found.push(thing);
      distances.push(nearest[0]?.distance ?? 0);
    }
    expect(things).toHaveLength(37);
    expect(found.length, found.join(', ')).toBeGreaterThanOrEqual(33);
    expect(Math.min(...distances)).toBeGreaterThan(0.03);
  });

  it('resembles the drawings of the thing that other words mean', async () => {
    const found: string[] = [];
    for (const { prompt, names } of figures.free) {
      const nearest = drawings.nearest(await draw(prompt), 5);
      if (nearest.some(({ name }) => name.split(' ').some((word) => names.includes(word)))) found.push(prompt);
    }
    expect(figures.free).toHaveLength(48);
    expect(found.length, found.join(', ')).toBeGreaterThanOrEqual(28);
  });

  it('has the color that was asked for, in 100 pairs of color and thing', async () => {
    const found: string[] = [];
    for (const pair of figures.pairs) {
      const color = mainColour(await draw(`a ${pair}`));
      if (pair.startsWith(`${color} `)) found.push(pair);
    }
    expect(figures.pairs).toHaveLength(100);
    expect(found.length, found.join(', ')).toBeGreaterThanOrEqual(88);
  });
});
