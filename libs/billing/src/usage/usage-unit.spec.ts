import { describe, expect, it } from 'vitest';
import { analyticsModelType, partOf, unitOf } from './usage-unit.js';

describe('a sku', () => {
  it.each([
    ['m-llm-output-mtoken', 'text', { unitType: 'tokens', scale: 1_000_000 }],
    ['m-image-unit', 'image', { unitType: 'images', scale: 1 }],
    ['m-image-upscale-2x', 'upscale', { unitType: 'images', scale: 1 }],
    ['m-tts-mcharacter', 'tts', { unitType: 'chars', scale: 1_000_000 }],
    ['m-asr-second', 'asr', { unitType: 'seconds', scale: 1 }],
    ['m-asr-minute', 'asr', { unitType: 'minutes', scale: 1 }],
    ['m-video-unit', 'video', { unitType: 'seconds', scale: 1 }],
    ['something', undefined, { unitType: 'tokens', scale: 1 }],
  ] as const)('%s of a model of type %s counts in %j', (sku, type, unit) => {
    expect(unitOf(sku, type)).toEqual(unit);
  });

  it.each([
    ['my-model-llm-cache-input-mtoken', 'my-model', 'cache-input'],
    ['my-model-embedding-input-mtoken', 'my-model', 'input'],
    ['my-model-tts-input-mcharacter', 'my-model', 'input'],
    ['my-model-asr-audio-second', 'my-model', 'audio'],
    ['my-model-image-unit', 'my-model', 'image'],
    ['my-model-image-resolutions-1k', 'my-model', 'resolutions-1k'],
    ['my-model-video-second', 'my-model', 'video'],
    ['my-model-video-upscale-2x-second', 'my-model', 'upscale-2x'],
    ['my-model-unit', 'my-model', 'unit'],
    ['else-llm-input-mtoken', 'my-model', 'else-llm-input'],
  ])('%s of %s is for %s', (sku, modelId, part) => {
    expect(partOf(sku, modelId)).toBe(part);
  });
});

describe('a kind of model', () => {
  it.each([
    ['text', 'LLM'],
    ['inpaint', 'IMAGE'],
    ['embedding', null],
    [undefined, null],
  ])('%s is called %s', (type, name) => {
    expect(analyticsModelType(type)).toBe(name);
  });
});
