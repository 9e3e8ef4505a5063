import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskEngineRun } from '#test/task-engine-run';
import type { HostLoadOptions } from '../../host/host-protocol.js';
import type { GenerateInput, PictureOutput } from '../../pictures/picture-tasks.js';
import fixture from './__fixtures__/tiny-diffusion.json' with { type: 'json' };
import xlFixture from './__fixtures__/tiny-diffusion-xl.json' with { type: 'json' };
import { ClipTokenizer } from './clip-tokenizer.js';
import { loadStableDiffusionFamily } from './stable-diffusion.family.js';

const directory = fileURLToPath(new URL('./__fixtures__/tiny', import.meta.url));

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

describe('the tokenizer of CLIP', () => {
  it.each(fixture.encoded.map(({ text, ids }) => [JSON.stringify(text.slice(0, 40)), text, ids] as const))(
    'gives the ids that the reference gives: %s',
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

  const generate = async (id: string, input: GenerateInput) =>
    (await run.run({ id, task: 'generate', input })) as PictureOutput;

  const wishOf = ({ seed, guidance, width, height, steps, picture, strength }: (typeof fixture.cases)[number]) => ({
    prompt: fixture.prompt,
    negativePrompt: fixture.negative,
    seed,
    guidance,
    width,
    height,
    steps,
    picture: picture === null ? null : { width, height, data: Uint8Array.from(picture) },
    strength: strength ?? 1,
  });

  it.each(
    fixture.cases.map(
      (wanted) =>
        [
          `${wanted.width} by ${wanted.height}, guidance ${wanted.guidance}, ${wanted.picture === null ? 'from words' : 'from a picture'}`,
          wanted,
        ] as const,
    ),
  )('makes the picture that the reference makes: %s', async (name, wanted) => {
    const { picture } = await generate(name, wishOf(wanted));
    expect([picture.width, picture.height]).toEqual([wanted.width, wanted.height]);
    const differences = wanted.samples.map((sample, index) => Math.abs(sample - (picture.data[index] ?? NaN)));
    expect(Math.max(...differences)).toBeLessThanOrEqual(2);
  });

  const first = fixture.cases[0] as (typeof fixture.cases)[number];

  it('makes another picture of another seed, another prompt and another negative prompt', async () => {
    const wish = wishOf(first);
    const base = await generate('base', wish);
    expect(await generate('again', wish)).toEqual(base);
    for (const change of [{ seed: wish.seed + 1 }, { prompt: 'a nest' }, { negativePrompt: '' }]) {
      const other = await generate(JSON.stringify(change), { ...wish, ...change });
      expect(other.picture.data).not.toEqual(base.picture.data);
    }
  });

  it('tells how far it is after every step, and stops between two of them', async () => {
    expect(run.fractions('base')).toHaveLength(first.steps);
    const before = run.engine.stats().stepsTotal;
    run.engine.submit({ id: 'long', task: 'generate', input: { ...wishOf(first), steps: 1_000 } });
    while (run.told('long').length < 2) await run.heard();
    run.engine.cancel('long');
    expect(await run.ended('long')).toMatchObject({ type: 'task-finished', cancelled: true });
    expect(run.engine.stats().stepsTotal - before).toBeLessThan(10);
  });

  it('refuses a size that latents cannot have', async () => {
    run.engine.submit({ id: 'odd', task: 'generate', input: { ...wishOf(first), width: 17 } });
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

  it('fills the second tokenizer’s ids up with what its configuration names', async () => {
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
  )('makes the picture that the reference makes: %s', async (name, { samples, negative, ...wanted }) => {
    const input = { ...wanted, prompt: xlFixture.prompt, negativePrompt: negative, picture: null, strength: 1 };
    const { picture } = (await run.run({ id: name, task: 'generate', input })) as PictureOutput;
    const differences = samples.map((sample, index) => Math.abs(sample - (picture.data[index] ?? NaN)));
    expect(picture.data).toHaveLength(samples.length);
    expect(Math.max(...differences)).toBeLessThanOrEqual(2);
  });
});
