import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { modelFolder } from '#model-store';
import { TaskEngineRun } from '#test/task-engine-run';
import { installTinyImages } from '#test/tiny-images';
import { type HostLoadOptions, hostLoadOptions } from '../../host/index.js';
import type { MatteOutput } from '../../images/image-tasks.js';
import { emptyImage, type RgbPixels } from '../../images/pixel-grid.js';
import fixture from './__fixtures__/matting.json' with { type: 'json' };
import { loadMattingFamily } from './matting.family.js';

const [width, height] = [1_600, 1_200];

let home: string;
let manifests: Awaited<ReturnType<typeof installTinyImages>>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'matting-'));
  manifests = await installTinyImages(home);
});
afterAll(() => rm(home, { recursive: true }));

let run: TaskEngineRun | null = null;
afterEach(async () => {
  await run?.engine.close();
  run = null;
});

/** Loads an installed model, with these changes of its options. */
async function load(id: string, changes: Partial<HostLoadOptions> = {}): Promise<void> {
  const manifest = manifests.find((one) => one.id === id);
  if (manifest === undefined) throw new Error(`there is no ${id}`);
  const directory = modelFolder(home, id);
  const options = hostLoadOptions({ manifest, directory }, { providers: ['cpu'], threads: 1, slots: 1 });
  const loading = new TaskEngineRun();
  await loading.load(loadMattingFamily, { ...options, ...changes });
  run = loading;
}

async function matteOf(image: RgbPixels): Promise<MatteOutput> {
  return (await run?.run({ id: 'matte', task: 'matte', input: { image } })) as MatteOutput;
}

describe('a network of brightness', () => {
  it.each(['tiny-matte', 'tiny-cutout'])('returns a byte for each pixel, at the size of the image (%s)', async (id) => {
    await load(id);
    const image = emptyImage(64, 64);
    image.data.fill(255, 0, 64 * 32 * 3);
    const { alpha, ...size } = await matteOf(image);
    expect(size).toEqual({ width: 64, height: 64 });
    expect([alpha.length, alpha[0], alpha.at(-1)]).toEqual([64 * 64, 255, 0]);
  });

  it('keeps none of the numbers that it computes with, which are many times as large as the image', async () => {
    await load('tiny-matte');
    const image = emptyImage(width, height);
    const before = process.memoryUsage().arrayBuffers;
    const { alpha } = await matteOf(image);
    const kept = process.memoryUsage().arrayBuffers - before - alpha.length;
    expect(kept / mebibyte).toBeLessThan(2);
  });
});

type Case = (typeof fixture.cases)[number];

describe('a network of the manifest', () => {
  const directory = join(import.meta.dirname, '__fixtures__');
  const options = { directory, family: 'matting' };
  const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
  const image: RgbPixels = { ...fixture.image, data: bytesOf(fixture.image.data) };

  const loadCase = ({ name, familyOptions }: Case, changes: object = {}) => {
    const changed: object = { ...familyOptions, ...changes };
    const ofFamily = changed as HostLoadOptions['familyOptions'];
    return load('tiny-cutout', { ...options, graphFile: `${name}.onnx`, familyOptions: ofFamily });
  };

  it.each(fixture.cases.map((one) => [one.name, one] as const))(
    'gives the matte of the reference: %s',
    async (_, one) => {
      await loadCase(one);
      const { alpha } = await matteOf(image);
      const wanted = bytesOf(one.alpha);
      // A value at the border of two bytes is rounded either way; half floats keep 11 bits.
      const far = one.name.endsWith('half') ? 2 : 1;
      expect(alpha).toHaveLength(wanted.length);
      expect(Math.max(...alpha.map((value, index) => Math.abs(value - (wanted[index] ?? 0))))).toBeLessThanOrEqual(far);
      // The reference is no plane of one value.
      expect(Math.max(...wanted) - Math.min(...wanted)).toBeGreaterThan(100);
    },
  );

  const [birefnet, , , isnet] = fixture.cases as [Case, Case, Case, Case];

  it.each([
    ['a wrong option', birefnet, { mean: 'grey' }, 'familyOptions.mean must be a number, or three', 'INVALID_MANIFEST'],
    ['another size', birefnet, { width: 64 }, 'width is 64, and its input has a width of 48', 'INVALID_MODEL'],
    [
      'a size that varies',
      birefnet,
      { width: undefined, height: undefined, shortSide: 48 },
      'its input has a width of 48',
      'INVALID_MODEL',
    ],
    [
      'an unknown output',
      isnet,
      { output: 'alpha' },
      'it has no output alpha; there are side0, side1, matte',
      'INVALID_MODEL',
    ],
  ])('is refused at load with %s', async (_, one, changes, message, code) => {
    await expect(loadCase(one, changes)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
  });

  it('fails where the output is several planes', async () => {
    await loadCase(isnet, { output: 'side0' });
    await expect(matteOf(image)).rejects.toThrow('returned 1 × 4 × 24 × 32 values instead of one matte');
  });
});
