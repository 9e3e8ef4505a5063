import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, vi } from 'vitest';
import { convertModel } from '#model-store';
import { hasSoftwareGpu, softwareGpu } from '#test/software-gpu';
import { tinyVisionFolder } from '#test/tiny-vision-models';
import { describeVisionModel } from './__fixtures__/describe-vision-model.js';
import type { KnownCase } from './__fixtures__/known-cases.js';

/* A model that reads images, with states and positions in three axes, on a device, against the Python reference. */

const name = 'qwen3.5';

let folder = '';
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  // Programs take long to compile.
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
  folder = await mkdtemp(join(tmpdir(), 'vision-on-device-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

if (hasSoftwareGpu) {
  const { cases } = JSON.parse(readFileSync(`${tinyVisionFolder(name)}.json`, 'utf8')) as { cases: KnownCase[] };
  const options = async () => {
    const directory = await mkdtemp(join(folder, `${name}-`));
    const inputFolder = tinyVisionFolder(name);
    await convertModel({ kind: 'safetensors', inputFolder, outputFolder: directory, options: { images: true } });
    return {
      modelId: name,
      directory,
      graphFile: 'model.onnx',
      family: 'vision-language',
      familyOptions: { visionEncoder: 'vision_encoder.onnx' },
      providers: ['webgpu'],
      intraOpThreads: 1,
      slots: 4,
      contextLength: 512,
      cacheTokens: 2_048,
    };
  };
  const scales = { imageTokens: 6, frameTokens: 2, image: 4, frame: 1 };
  // The kernels of the encoder round differently there.
  describeVisionModel({
    name: `${name} on a device`,
    placeholder: '<|image_pad|>',
    scales,
    furthest: 0.02,
    cases,
    options,
  });
}
