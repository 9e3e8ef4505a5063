import { expect, it } from 'vitest';
import { exampleManifest } from '#test/example-manifest';
import { fieldsOfSize } from './openai-size.js';

const price = { usd: 0.01, diem: 0.01 };

function painter(aspectRatios?: string[]) {
  return exampleManifest({
    type: 'image',
    contextLength: undefined,
    maxCompletionTokens: undefined,
    constraints: {
      promptCharacterLimit: 40,
      steps: { default: 1, max: 1 },
      widthHeightDivisor: 64,
      aspectRatios,
    } as never,
    pricing: { generation: price, upscale: { '2x': price, '4x': price } } as never,
  });
}

it.each([
  ['1792x1024', { width: 1_792, height: 1_024 }, { aspect_ratio: '16:9' }],
  ['1024x1536', { width: 1_024, height: 1_536 }, { aspect_ratio: '9:16' }],
  ['256x256', { width: 256, height: 256 }, { aspect_ratio: '1:1' }],
  ['auto', { width: 1_024, height: 1_024 }, { aspect_ratio: '1:1' }],
  [null, { width: 1_024, height: 1_024 }, { aspect_ratio: '1:1' }],
  [undefined, { width: 1_024, height: 1_024 }, { aspect_ratio: '1:1' }],
])('the size %s is kept or becomes the nearest shape of the model', (size, plain, shaped) => {
  expect(fieldsOfSize(size, painter())).toEqual(plain);
  expect(fieldsOfSize(size, painter([]))).toEqual(plain);
  expect(fieldsOfSize(size, painter(['16:9', '1:1', '9:16']))).toEqual(shaped);
});
