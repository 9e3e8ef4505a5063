import { describe } from 'vitest';
import { bodiesWithImages, chatAbout, type LargestInput, testLargestInputs } from '#test/largest-inputs';
import { ServedPlatform } from '#test/served-platform';
import { installedWeights, weightsHome } from './starter-weights.js';

/*
 * The largest input that the routes accept, one more, and the memory that the host of the model takes for the first, of
 * families without a tiny model. Others: test/e2e/largest-inputs.e2e-spec.ts.
 */

const chatModel = 'stories-15m';

const served = new ServedPlatform({
  home: weightsHome,
  install: async () => {
    const manifests = [];
    for (const id of [chatModel, 'pp-ocr-v4', 'coco-ssd']) manifests.push((await installedWeights(id)).manifest);
    return manifests;
  },
});

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
    maxPeak: 250,
  },
];

describe('the largest input on real weights', () => {
  testLargestInputs(inputs, served);
});
