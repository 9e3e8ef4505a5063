import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import {
  bodiesWithImages,
  chatAbout,
  endlessSentence,
  type LargestInput,
  testLargestInputs,
} from '#test/largest-inputs';
import { ServedPlatform } from '#test/served-platform';
import { installedWeights, weightsHome } from './starter-weights.js';

/*
 * The largest input that the routes accept, one more, and the memory that the host of the model takes for the first, on
 * real weights. What takes minutes is in largest-inputs.nightly-spec.ts, other families in
 * test/e2e/largest-inputs.nightly-spec.ts.
 */

const chatModel = 'stories-15m';
const policyFile = join(tmpdir(), `sluice-policy-${process.pid}.yaml`);

const served = new ServedPlatform({
  home: weightsHome,
  install: async () => {
    await writeFile(policyFile, 'classifier: { model: toxicity-bert-tiny, threshold: 1 }\n');
    const ids = [chatModel, 'pp-ocr-v4', 'coco-ssd', 'toxicity-bert-tiny', 'nsfw-mobilenet', 'u2netp'];
    const manifests = [];
    for (const id of ids) manifests.push((await installedWeights(id)).manifest);
    return manifests;
  },
  env: { SLUICE_CONTENT_POLICY_FILE: policyFile },
});

afterAll(() => rm(policyFile, { force: true }));

const tooManyPixels = { status: 422, message: /33177600/ };

const inputs: LargestInput[] = [
  {
    family: 'pp-ocr: 33.2 megapixels in a chat',
    model: 'pp-ocr-v4',
    path: '/chat/completions',
    bodies: () => bodiesWithImages([7_680, 4_320], (image) => chatAbout(chatModel, image)),
    refusal: tooManyPixels,
    maxPeak: 500,
  },
  {
    family: 'coco-ssd: 33.2 megapixels in a chat',
    model: 'coco-ssd',
    path: '/chat/completions',
    // Another image: what adapters find in one is kept.
    bodies: () => bodiesWithImages([7_680, 4_320], (image) => chatAbout(chatModel, image), 60),
    refusal: tooManyPixels,
    maxPeak: 200,
  },
  {
    family: 'text-classification: 2,048 texts, each longer than a window',
    model: 'toxicity-bert-tiny',
    path: '/moderations',
    bodies: () => {
      const input = Array.from({ length: 2_048 }, (_, index) => `${index} ${endlessSentence(400)}`);
      return Promise.resolve([{ input }, { input: [...input, 'and'] }]);
    },
    refusal: { status: 400, message: /1 to 2048/ },
    maxPeak: 200,
  },
  {
    family: 'nsfw-mobilenet: 33.2 megapixels to rate',
    model: 'nsfw-mobilenet',
    path: '/moderations',
    bodies: () =>
      bodiesWithImages([7_680, 4_320], (image) => ({
        input: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }],
      })),
    refusal: tooManyPixels,
    maxPeak: 100,
  },
  {
    family: 'u2net: 33.2 megapixels',
    model: 'u2netp',
    path: '/image/background-remove',
    bodies: () => bodiesWithImages([7_680, 4_320], (image) => ({ image })),
    refusal: tooManyPixels,
    maxPeak: 300,
  },
];

describe('the largest input on real weights', () => {
  testLargestInputs(inputs, served);
});
