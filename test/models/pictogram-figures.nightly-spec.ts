import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RgbPixels } from '#inference/tasks';
import figures from '../../tools/train/pictogram/figures.json' with { type: 'json' };
import { mainColour, TrainingDrawings } from './drawing-measures.js';
import { loadPictogram, type Pictogram } from './pictogram-model.js';

/*
 * Figures of the model card. Eight steps instead of twenty: the bounds were measured with them, less two or three images
 * that other kernels may draw otherwise.
 */
describe('what pictogram draws', () => {
  let drawings: TrainingDrawings;
  let model: Pictogram;
  beforeAll(async () => {
    drawings = await TrainingDrawings.read();
    model = await loadPictogram();
  });
  afterAll(() => model.close());

  const draw = async (prompt: string): Promise<RgbPixels> => {
    const [image] = await model.generate({ prompt, steps: 8, seeds: [3] });
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
