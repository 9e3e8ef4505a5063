import { describe, expect, it } from 'vitest';
import { validateBody } from '#platform/validation';
import { exampleManifest } from '#test/example-manifest';
import { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import { normalizeGenerate } from './image.normalizer.js';
import { findStyle, stylePresets } from './style-presets.js';

const price = { usd: 0.01, diem: 0.01 };
const pricing = { generation: price, resolutions: { '1K': price, '2K': price }, upscale: { '2x': price, '4x': price } };

function painter(constraints: object = {}, familyOptions = {}) {
  return exampleManifest({
    id: 'painter',
    type: 'image',
    family: 'stable-diffusion',
    familyOptions,
    contextLength: undefined,
    maxCompletionTokens: undefined,
    constraints: {
      promptCharacterLimit: 40,
      steps: { default: 20, max: 50 },
      widthHeightDivisor: 64,
      ...constraints,
    } as never,
    pricing: pricing as never,
  });
}

const shaped = {
  aspectRatios: ['1:1', '16:9', '9:16'],
  defaultAspectRatio: '1:1',
  resolutions: ['1K', '2K'],
  defaultResolution: '1K',
};

function normalize(body: object, manifest = painter()) {
  const wire = validateBody(GenerateImageRequest, { model: 'painter', prompt: 'a bird', ...body });
  return normalizeGenerate(wire, manifest, pricing);
}

describe('a request for an image', () => {
  it('has the defaults of the API and of its model', () => {
    expect(normalize({})).toMatchObject({
      operation: 'generate',
      prompt: 'a bird',
      negativePrompt: '',
      width: 1024,
      height: 1024,
      steps: 20,
      guidance: 7.5,
      format: 'webp',
      safeMode: true,
      withExif: false,
      priceOfImage: 'resolutions.1K',
    });
    expect(normalize({}, painter({}, { guidance: 0 })).guidance).toBe(0);
  });

  it('counts variants up from its seed, and uses a random one for 0 and for none', () => {
    expect(normalize({ seed: 7, variants: 3 }).seeds).toEqual([7, 8, 9]);
    expect(normalize({ seed: -999_999_999 }).seeds).toEqual([-999_999_999]);
    for (const body of [{}, { seed: 0 }]) {
      const [first, second] = [normalize(body).seeds, normalize(body).seeds];
      expect(first).toHaveLength(1);
      expect(first[0]).toBeGreaterThan(0);
      expect(first).not.toEqual(second);
    }
  });

  it('adds the words of a style to both prompts', () => {
    const style = findStyle('WATERCOLOR') ?? expect.fail('no such style');
    const { prompt, negativePrompt } = normalize({ style_preset: 'watercolor', negative_prompt: 'rain' });
    expect(prompt).toBe(`a bird, ${style.prompt}`);
    expect(negativePrompt).toBe(`rain, ${style.negative}`);
  });

  it.each([
    [{ aspect_ratio: '16:9' }, { width: 1024, height: 576, priceOfImage: 'resolutions.1K' }],
    // Some clients send the documented defaults.
    [
      { aspect_ratio: '16:9', width: 1024, height: 1024 },
      { width: 1024, height: 576, priceOfImage: 'resolutions.1K' },
    ],
    [
      { aspect_ratio: '9:16', resolution: '2K' },
      { width: 1152, height: 2048, priceOfImage: 'resolutions.2K' },
    ],
    [{}, { width: 1024, height: 1024, priceOfImage: 'resolutions.1K' }],
  ])('takes its size from shape and tier: %j', (body, expected) => {
    expect(normalize(body, painter(shaped))).toMatchObject(expected);
  });

  it('has the size of its tier without a shape too, and is charged by that tier', () => {
    const tiers = painter({ resolutions: ['1K', '2K'], defaultResolution: '1K' });
    const large = { width: 2_048, height: 2_048, priceOfImage: 'resolutions.2K' };
    expect(normalize({ resolution: '2K' }, tiers)).toMatchObject(large);
    expect(normalize({ width: 1_280, height: 1_280 }, tiers)).toMatchObject({ priceOfImage: 'resolutions.2K' });
    expect(normalize({ width: 512, height: 512 }, tiers)).toMatchObject({ priceOfImage: 'resolutions.1K' });
    // Registered before the rules for tiers existed; new models cannot have such a tier.
    const earlier = (tiers: object) => ({
      ...painter(),
      constraints: { ...painter(shaped).constraints, ...tiers } as never,
    });
    const named = earlier({ resolutions: ['1.5K', 'HD'], defaultResolution: '1.5K' });
    expect(normalize({ aspect_ratio: '1:1' }, named)).toMatchObject({ width: 1_536, height: 1_536 });
    expect(() => normalize({ resolution: 'HD' }, named)).toThrow(/"HD" means no size/);
    const unnamed = earlier({ resolutions: ['HD'], defaultResolution: 'HD' });
    expect(normalize({}, unnamed)).toMatchObject({ width: 1_024, height: 1_024 });
  });

  it.each([
    ['resolution', { resolution: '2K', width: 512 }],
    ['aspect_ratio', { aspect_ratio: '16:9', height: 512 }],
  ])('rejects a second size: %s', (param, body) => {
    const refused = expect.objectContaining({ code: 'INVALID_REQUEST', param }) as Error;
    expect(() => normalize(body, painter(shaped))).toThrow(refused);
  });

  it('treats a null width or height as absent', () => {
    const body = { width: null, height: null, aspect_ratio: '16:9', resolution: null };
    expect(normalize(body, painter(shaped))).toMatchObject({ width: 1_024, height: 576 });
  });

  it('counts the characters of its prompt, whatever they are', () => {
    expect(normalize({ prompt: '😀'.repeat(40) }).prompt).toHaveLength(80);
    expect(() => normalize({ prompt: '😀'.repeat(41) })).toThrow(/40 characters/);
  });

  it('rejects style references, whatever its manifest says', () => {
    const body = { style_references: [{ image: 'aGk=' }] };
    expect(() => normalize(body, painter({ maxStyleReferences: 2 }))).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param: 'style_references' }),
    );
  });

  it('ignores steps if the model takes one', () => {
    expect(normalize({ steps: 30 }, painter({ steps: { default: 1, max: 1 } })).steps).toBe(1);
  });

  it.each([
    ['a prompt one over the limit', { prompt: 'x'.repeat(41) }, 'prompt', /40 characters/],
    ['a width that is not divisible', { width: 100 }, 'width', /64 with this model: 64 or 128/],
    ['a height below the divisor', { height: 30 }, 'height', /multiple of 64 with this model: 64\./],
    ['more steps than the model has', { steps: 51 }, 'steps', /above 50/],
    ['an unknown style', { style_preset: 'crayon' }, 'style_preset', /GET \/image\/styles/],
    ['a shape for a model without shapes', { aspect_ratio: '1:1' }, 'aspect_ratio', /send width and height/],
    ['bytes of several images', { return_binary: true, variants: 2 }, 'variants', /return_binary/],
    [
      'style references for a model without them',
      { style_references: [{ image: 'aGk=' }] },
      'style_references',
      /takes no/,
    ],
  ])('rejects %s', (_, body, param, message) => {
    expect(() => normalize(body)).toThrow(message);
    expect(() => normalize(body)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param }));
  });

  it('rejects a shape or tier that its model does not support', () => {
    expect(() => normalize({ aspect_ratio: '4:3' }, painter(shaped))).toThrow(/one of: 1:1, 16:9, 9:16/);
    expect(() => normalize({ resolution: '4K' }, painter(shaped))).toThrow(/one of: 1K, 2K/);
  });

  it.each([
    ['width', { width: 1_281 }],
    ['cfg_scale', { cfg_scale: 0 }],
    ['cfg_scale', { cfg_scale: 21 }],
    ['seed', { seed: 1_000_000_000 }],
    ['variants', { variants: 5 }],
    ['format', { format: 'gif' }],
    ['prompt', { prompt: '' }],
    ['negative_prompt', { negative_prompt: 'x'.repeat(7_501) }],
  ])('is rejected by its schema: %s', (param, body) => {
    expect(() => normalize(body)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param }));
  });
});

describe('an image request of OpenAI clients', () => {
  const read = (body: object) => validateBody(SimpleGenerateImageRequest, { prompt: 'a bird', ...body });

  it('accepts all that they send, including null', () => {
    const body = { n: 1, size: null, quality: 'hd', style: 'vivid', user: 'u', background: null, moderation: 'low' };
    expect(read(body)).toMatchObject({ prompt: 'a bird', quality: 'hd' });
  });

  it.each([
    ['n', { n: 5 }],
    ['size', { size: '100x100' }],
    ['prompt', { prompt: 'x'.repeat(1_501) }],
    ['safe_mode', { safe_mode: true }],
  ])('is rejected with its field: %s', (param, body) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param }));
  });
});

describe('the styles', () => {
  it('are at least forty, each with a name and a prompt of its own', () => {
    expect(stylePresets.length).toBeGreaterThanOrEqual(40);
    expect(new Set(stylePresets.map(({ name }) => name.toLowerCase())).size).toBe(stylePresets.length);
    expect(new Set(stylePresets.map(({ prompt }) => prompt)).size).toBe(stylePresets.length);
  });
});
