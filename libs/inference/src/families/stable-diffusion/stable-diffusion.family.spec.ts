import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskEngineRun } from '#test/task-engine-run';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import type { GenerateInput, GenerateOutput } from '../../images/image-tasks.js';
import type { RgbPixels } from '../../images/pixel-grid.js';
import fixture from './__fixtures__/tiny-diffusion.json' with { type: 'json' };
import xlFixture from './__fixtures__/tiny-diffusion-xl.json' with { type: 'json' };
import { ClipTokenizer } from './clip-tokenizer.js';
import { loadStableDiffusionFamily } from './stable-diffusion.family.js';

const directory = fileURLToPath(new URL('./__fixtures__/tiny', import.meta.url));

/** Returns the image of a task with one seed. */
function only(output: object): { image: RgbPixels } {
  const { images } = output as GenerateOutput;
  expect(images).toHaveLength(1);
  return { image: images[0] ?? expect.fail('no image') };
}

const options: HostLoadOptions = {
  modelId: 'tiny-diffusion',
  directory,
  graphFile: 'unet/model.onnx',
  family: 'stable-diffusion',
  familyOptions: {},
  providers: ['cpu'],
  intraOpThreads: 1,
  slots: 1,
  contextLength: 1,
  cacheTokens: 1,
};

describe('the CLIP tokenizer', () => {
  it.each(fixture.encoded.map(({ text, ids }) => [JSON.stringify(text.slice(0, 40)), text, ids] as const))(
    'returns the ids of the reference: %s',
    async (_, text, ids) => {
      const tokenizer = await ClipTokenizer.load(`${directory}/tokenizer`);
      expect(tokenizer.encode(text)).toEqual(ids);
    },
  );
});

describe('a tiny Stable Diffusion', () => {
  const run = new TaskEngineRun();
  beforeAll(() => run.load(loadStableDiffusionFamily, options));
  afterAll(() => run.engine.close());

  const generate = async (id: string, input: GenerateInput) => only(await run.run({ id, task: 'generate', input }));

  const optionsOf = ({ seed, guidance, width, height, steps, image, strength }: (typeof fixture.cases)[number]) => ({
    prompt: fixture.prompt,
    negativePrompt: fixture.negative,
    seeds: [seed],
    guidance,
    width,
    height,
    steps,
    image: image === null ? null : { width, height, data: Uint8Array.from(image) },
    strength: strength ?? 1,
    mask: null,
  });

  it.each(
    fixture.cases.map(
      (wanted) =>
        [
          `${wanted.width} by ${wanted.height}, guidance ${wanted.guidance}, ${wanted.image === null ? 'from words' : 'from an image'}`,
          wanted,
        ] as const,
    ),
  )('generates the image of the reference: %s', async (name, wanted) => {
    const { image } = await generate(name, optionsOf(wanted));
    expect([image.width, image.height]).toEqual([wanted.width, wanted.height]);
    const differences = wanted.samples.map((sample, index) => Math.abs(sample - (image.data[index] ?? NaN)));
    expect(Math.max(...differences)).toBeLessThanOrEqual(2);
  });

  const first = fixture.cases[0] as (typeof fixture.cases)[number];

  it('generates another image for another seed, prompt or negative prompt', async () => {
    const options = optionsOf(first);
    const base = await generate('base', options);
    expect(await generate('again', options)).toEqual(base);
    for (const change of [{ seeds: [first.seed + 1] }, { prompt: 'a nest' }, { negativePrompt: '' }]) {
      const other = await generate(JSON.stringify(change), { ...options, ...change });
      expect(other.image.data).not.toEqual(base.image.data);
    }
  });

  it.each([first, fixture.cases[2] as typeof first])(
    'generates the same image for a seed in any batch',
    async (wanted) => {
      const input = optionsOf(wanted);
      const output = await run.run({
        id: `batch-${wanted.seed}`,
        task: 'generate',
        input: { ...input, seeds: [50, wanted.seed, 51] },
      });
      const { images } = output as GenerateOutput;
      for (const [index, seed] of [50, wanted.seed, 51].entries()) {
        const alone = await generate(`alone-${seed}-${wanted.seed}`, { ...input, seeds: [seed] });
        expect(images[index]).toEqual(alone.image);
      }
    },
  );

  it('reports progress after every step, and stops between two steps', async () => {
    expect(run.fractions('base')).toHaveLength(first.steps);
    const before = run.engine.stats().stepsTotal;
    run.engine.submit({ id: 'long', task: 'generate', input: { ...optionsOf(first), steps: 1_000 } });
    while (run.told('long').length < 2) await run.heard();
    run.engine.cancel('long');
    expect(await run.ended('long')).toMatchObject({ type: 'task-finished', cancelled: true });
    expect(run.engine.stats().stepsTotal - before).toBeLessThan(10);
  });

  it('rejects a size that the latents cannot have', async () => {
    run.engine.submit({ id: 'odd', task: 'generate', input: { ...optionsOf(first), width: 17 } });
    expect(await run.ended('odd')).toMatchObject({
      type: 'failed',
      error: { code: 'INVALID_REQUEST', param: 'width' },
    });
  });
});

describe('a tiny Stable Diffusion XL, with two text encoders', () => {
  const xlDirectory = fileURLToPath(new URL('./__fixtures__/tiny-xl', import.meta.url));
  const run = new TaskEngineRun();
  beforeAll(() => run.load(loadStableDiffusionFamily, { ...options, directory: xlDirectory }));
  afterAll(() => run.engine.close());

  it('pads the ids of the second tokenizer with the token that its configuration names', async () => {
    const tokenizer = await ClipTokenizer.load(`${xlDirectory}/tokenizer_2`);
    expect(tokenizer.encode(xlFixture.prompt)).toEqual(xlFixture.secondIds);
  });

  it.each(
    xlFixture.cases.map(
      (wanted) =>
        [
          `${wanted.width} by ${wanted.height}, guidance ${wanted.guidance}, against ${JSON.stringify(wanted.negative)}`,
          wanted,
        ] as const,
    ),
  )('generates the image of the reference: %s', async (name, { samples, negative, seed, ...wanted }) => {
    const prompts = { prompt: xlFixture.prompt, negativePrompt: negative };
    const input = { ...wanted, ...prompts, seeds: [seed], image: null, strength: 1, mask: null };
    const { image } = only(await run.run({ id: name, task: 'generate', input }));
    const differences = samples.map((sample, index) => Math.abs(sample - (image.data[index] ?? NaN)));
    expect(image.data).toHaveLength(samples.length);
    expect(Math.max(...differences)).toBeLessThanOrEqual(2);
  });
});
