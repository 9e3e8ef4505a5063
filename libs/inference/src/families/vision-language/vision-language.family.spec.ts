import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { describeVisionModel } from './__fixtures__/describe-vision-model.js';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import { loadVisionLanguageFamily } from './vision-language.family.js';
import type { KnownCase } from './__fixtures__/known-cases.js';

const fixture = (name: string): URL => new URL(`./__fixtures__/${name}`, import.meta.url);

function optionsOf(name: string, more: Partial<HostLoadOptions> = {}): HostLoadOptions {
  return {
    modelId: name,
    directory: fileURLToPath(fixture(name)),
    graphFile: 'onnx/decoder_model_merged.onnx',
    family: 'vision-language',
    familyOptions: {},
    providers: ['cpu'],
    intraOpThreads: 1,
    slots: 4,
    contextLength: 512,
    cacheTokens: 2_048,
    ...more,
  };
}

const models = [
  { name: 'tiny-idefics3', placeholder: '<image>', scales: null },
  { name: 'tiny-llava', placeholder: '<image>', scales: null },
  {
    name: 'tiny-qwen2-vl',
    placeholder: '<|image_pad|>',
    scales: { imageTokens: 6, frameTokens: 4, image: 4, frame: 2 },
  },
];

for (const { name, placeholder, scales } of models) {
  const { cases } = JSON.parse(readFileSync(fixture(`${name}.json`), 'utf8')) as { cases: KnownCase[] };
  describeVisionModel({ name, cases, placeholder, scales, options: () => optionsOf(name) });
}

it('a model of an unknown type is refused by its type', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-vision-'));
  await cp(fileURLToPath(fixture('tiny-idefics3')), folder, { recursive: true });
  await writeFile(join(folder, 'config.json'), JSON.stringify({ model_type: 'florence2', image_token_id: 41 }));
  const load = loadVisionLanguageFamily({ ...optionsOf('tiny-idefics3'), directory: folder }, () => undefined);
  await expect(load).rejects.toThrow(/model_type florence2/);
  await rm(folder, { recursive: true, force: true });
});
