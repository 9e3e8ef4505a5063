import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { modelFolder } from '#model-store';
import { TaskEngineRun } from '#test/task-engine-run';
import { installTinyImages } from '#test/tiny-images';
import { hostLoadOptions } from '../../host/index.js';
import type { MatteOutput } from '../../images/image-tasks.js';
import { emptyImage, type RgbPixels } from '../../images/pixel-grid.js';
import { loadModnetFamily } from './matting.family.js';

const [width, height] = [1_600, 1_200];

let home: string;
const run = new TaskEngineRun();

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'matting-'));
  const manifest = (await installTinyImages(home)).find(({ id }) => id === 'tiny-matte');
  if (manifest === undefined) throw new Error('there is no tiny-matte');
  const directory = modelFolder(home, manifest.id);
  await run.load(
    loadModnetFamily,
    hostLoadOptions({ manifest, directory }, { providers: ['cpu'], threads: 1, slots: 1 }),
  );
});
afterAll(async () => {
  await run.engine.close();
  await rm(home, { recursive: true });
});

function matteOf(id: string, image: RgbPixels): Promise<MatteOutput> {
  return run.run({ id, task: 'matte', input: { image } }) as Promise<MatteOutput>;
}

// The tiny network takes brightness for the foreground.
it('returns a byte for each pixel, at the size of the image', async () => {
  const image = emptyImage(64, 64);
  image.data.fill(255, 0, 64 * 32 * 3);
  const { alpha, ...size } = await matteOf('bright', image);
  expect(size).toEqual({ width: 64, height: 64 });
  expect([alpha.length, alpha[0], alpha.at(-1)]).toEqual([64 * 64, 255, 0]);
});

it('keeps none of the numbers that it computes with, which are many times as large as the image', async () => {
  const image = emptyImage(width, height);
  const before = process.memoryUsage().arrayBuffers;
  const { alpha } = await matteOf('large', image);
  const kept = process.memoryUsage().arrayBuffers - before - alpha.length;
  expect(kept / mebibyte).toBeLessThan(2);
});
