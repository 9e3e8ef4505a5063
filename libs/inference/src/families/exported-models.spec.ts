import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FamilyRun } from '../../../../test/conformance/families/family-run.js';
import { draftManifest } from '#model-store';
import type { EngineLoader, HostLoadOptions } from '../contract/engine-loader.js';
import { loadMusicgenFamily } from './musicgen/musicgen.family.js';
import { loadStableDiffusionFamily } from './stable-diffusion/stable-diffusion.family.js';
import { loadTextToVideoFamily } from './text-to-video-sd/text-to-video-sd.family.js';
import { loadVisionLanguageFamily } from './vision-language/vision-language.family.js';

/* Exports of several graphs: what `models add` drafts for them is loaded as it is. */

async function draftedOptions(fixture: string): Promise<HostLoadOptions> {
  const directory = fileURLToPath(new URL(fixture, import.meta.url));
  const { manifest } = await draftManifest(`file:${directory}`, {});
  const { id: modelId, graphFile, family, familyOptions = {}, contextLength = 64 } = manifest;
  const load = { directory, providers: ['cpu'], intraOpThreads: 1, slots: 2, cacheTokens: 2 * contextLength };
  return { ...load, modelId, graphFile, family, familyOptions, contextLength };
}

/** Resolves to true once the model is loaded. */
async function load(loader: EngineLoader, options: HostLoadOptions): Promise<boolean> {
  const run = await FamilyRun.load(loader, options);
  await run.engine.close();
  return true;
}

describe.each(['tiny-idefics3', 'tiny-llava', 'tiny-qwen2-vl'])(
  'the draft of a model that reads images: %s',
  (name) => {
    const fixture = `vision-language/__fixtures__/${name}`;

    it('loads', async () => {
      expect(await load(loadVisionLanguageFamily, await draftedOptions(fixture))).toBe(true);
    });
  },
);

describe.each(['tiny-idefics3', 'tiny-llava'])('the draft of a model with tiles or a square: %s', (name) => {
  it.each(['imageTokens', 'frameTokens'])('states the %s exactly', async (option) => {
    const options = await draftedOptions(`vision-language/__fixtures__/${name}`);
    const familyOptions = { ...options.familyOptions, [option]: Number(options.familyOptions[option]) - 1 };
    await expect(load(loadVisionLanguageFamily, { ...options, familyOptions })).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      param: `familyOptions.${option}`,
    });
  });
});

describe.each([
  ['stable-diffusion/__fixtures__/tiny', loadStableDiffusionFamily],
  ['stable-diffusion/__fixtures__/tiny-xl', loadStableDiffusionFamily],
  ['text-to-video-sd/__fixtures__/tiny', loadTextToVideoFamily],
])('the draft of a pipeline: %s', (fixture, loader) => {
  it('loads', async () => {
    expect(await load(loader, await draftedOptions(fixture))).toBe(true);
  });
});

describe('the draft of a MusicGen model', () => {
  it('loads', async () => {
    expect(await load(loadMusicgenFamily, await draftedOptions('musicgen/__fixtures__/tiny'))).toBe(true);
  });
});
