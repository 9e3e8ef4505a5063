import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { parseManifest, readStoredManifest, validateManifest } from './parse-manifest.js';

const valid = `
id: some-model
type: text
name: Some model
description: For tests.
created: 1700000000
ownedBy: sluice
modelSource: https://example.org
license: MIT
family: decoder
tier: XS
privacy: private
sources:
  - uri: npm:some-package@1.0.0
    files: [{ path: model.onnx }]
graphFile: model.onnx
contextLength: 128
maxCompletionTokens: 64
constraints: { temperature: { default: 0.5 }, top_p: { default: 1 } }
pricing: { input: { usd: 1, diem: 1 }, output: { usd: 2, diem: 2 } }
`;

const reasoning = `${valid}
capabilities: { supportsReasoning: true, supportsReasoningEffort: true, reasoningEffortOptions: [none, low] }`;

function errorOf(text: string): PlatformError {
  try {
    parseManifest(text, 'some-model.yaml');
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
  throw new Error('the manifest was accepted');
}

/** Returns the valid manifest with one line replaced or with lines added. */
function changed(from: string, to: string): string {
  if (!valid.includes(from)) throw new Error(`the fixture has no line "${from}"`);
  return valid.replace(from, to);
}

describe('parseManifest', () => {
  it('requires the sampling defaults and prices that every chat needs', () => {
    const { message } = errorOf(
      changed('top_p: { default: 1 }', 'repetition_penalty: { default: 1 }').replace(/, output: .*/, ' }'),
    );
    expect(message).toBe('some-model.yaml: constraints.top_p is required; pricing.output is required.');
  });

  it('names wrong fields and broken rules at once', () => {
    const broken = changed('tier: XS', 'tier: huge').replace('maxCompletionTokens: 64', 'maxCompletionTokens: 256');
    const { message } = errorOf(`${broken}traits: { Default: 1 }`);
    expect(message).toContain('tier must be one of');
    expect(message).toContain('maxCompletionTokens must not be greater than contextLength');
    expect(message).toContain('traits.Default may hold');
  });

  it('names every line that is no YAML', () => {
    expect(errorOf('a: [1\nb: {2\nc: "').message.split(';').length).toBeGreaterThan(1);
  });

  it('takes prices of cached tokens, read and written', () => {
    const priced = changed(
      'output: {',
      'cache_input: { usd: 1, diem: 1 }, cache_write: { usd: 3, diem: 3 }, output: {',
    );
    expect(parseManifest(priced, 'a.yaml').pricing).toMatchObject({ cache_write: { usd: 3 } });
  });

  it('takes a source that may be whole without files', () => {
    const whole = changed('npm:some-package@1.0.0', 'file:weights').replace('    files: [{ path: model.onnx }]\n', '');
    expect(whole).not.toContain('files:');
    expect(parseManifest(whole.replace(/ +integrity: .*\n/, ''), 'a.yaml').sources).toEqual([
      { uri: 'file:weights', files: [] },
    ]);
  });

  describe('of an adapter', () => {
    const adapter = `${valid}adapterOf: base\nconverter: { kind: lora }\n`;

    it('names its base', () => {
      expect(parseManifest(adapter, 'some-model.yaml')).toMatchObject({ adapterOf: 'base' });
      expect(errorOf(`${valid}converter: { kind: lora }`).message).toContain(
        'adapterOf is required: the id of its base',
      );
    });

    it.each([
      ['slots: 4', 'slots is that of the base'],
      ['cacheTokens: 64', 'cacheTokens is that of the base'],
      ['toolStyle: hermes', 'toolStyle is that of the base'],
      ['familyOptions: { pooling: mean }', 'familyOptions is that of the base'],
    ])('refuses %s', (line, message) => {
      expect(errorOf(`${adapter}${line}`).message).toContain(message);
    });

    it.each([
      ['adapterOf: base', 'adapterOf: some-model', 'adapterOf must be another model'],
      ['kind: lora', 'kind: gguf', 'converter.kind must be lora for a model with adapterOf'],
      ['family: decoder', 'family: vision-language', 'family must be decoder for a model with adapterOf'],
    ])('refuses %s as %s', (from, to, message) => {
      expect(errorOf(adapter.replace(from, to)).message).toContain(message);
    });
  });

  it('fills in defaults', () => {
    const manifest = parseManifest(valid, 'some-model.yaml');
    expect(manifest.converter).toEqual({ kind: 'none' });
    expect(manifest.capabilities.supportsLogProbs).toBe(false);
    expect(manifest.capabilities.quantization).toBe('not-available');
  });

  it.each([
    ['an unknown field', `${valid}\ncolour: red`, 'colour is not a field of a manifest'],
    ['an unknown nested field', `${valid}\ncapabilities: { canFly: true }`, 'capabilities.canFly is not a field'],
    ['an unknown field of a file', changed('{ path: model.onnx }', '{ path: a, md5: b }'), 'sources[0].files[0].md5'],
    ['a missing field', changed('name: Some model', ''), 'name is required'],
    [
      'an adapter of an unknown input',
      `${valid}\ninputAdapters: { smell: nose }`,
      'inputAdapters.smell is not a field',
    ],
    ['image adapters that are no list', `${valid}\ninputAdapters: { image: eyes }`, 'inputAdapters.image'],
    ['an image adapter named twice', `${valid}\ninputAdapters: { image: [a, a] }`, 'must name each model once'],
    [
      'an adapter that clients can see',
      `${valid.replace(/pricing:.*/, 'pricing: { per_image: { usd: 1, diem: 1 } }')}\nadapts: image`,
      'adapts is only for internal models',
    ],
    ['a classifier that clients may call', `${valid}\nclassifies: image`, 'classifies is only for internal models'],
    [
      'a classifier of another type',
      `${valid}\ninternal: true\nclassifies: text`,
      'classifies text is only for models of type embedding',
    ],
    [
      'a classifier without classes',
      `${valid}\ninternal: true\nclassifies: text\nfamilyOptions: { labels: toxic }`,
      'familyOptions.labels must name two or more classes',
    ],
    ['an adapter of an unknown kind', `${valid}\ninternal: true\nadapts: smell`, 'adapts must be one of'],
    ['video without vision', `${valid}\ncapabilities: { supportsVideoInput: true }`, 'supportsVideoInput needs'],
    ['an adapter that is no id', `${valid}\ninputAdapters: { audio: A:b }`, 'inputAdapters.audio may hold'],
    ['an id with a colon', changed('id: some-model', 'id: "some:model"'), 'id may hold'],
    ['an unknown type', changed('type: text', 'type: chat'), 'type must be one of'],
    ['a wrong boolean', `${valid}\ncapabilities: { supportsVision: yes please }`, 'capabilities.supportsVision'],
    ['a price below zero', changed('input: { usd: 1', 'input: { usd: -1'), 'pricing.input.usd'],
    ['a price in one currency', changed('{ usd: 2, diem: 2 }', '{ usd: 2 }'), 'pricing.output.diem is required'],
    ['constraints of another kind', changed('top_p: { default: 1 }', 'steps: { default: 1 }'), 'constraints.'],
    ['a source of an unknown kind', changed('npm:some-package@1.0.0', 'ftp:somewhere'), 'sources[0].uri'],
    ['a path that leaves its folder', changed('{ path: model.onnx }', '{ path: a, as: ../a }'), 'files[0].as'],
    ['an absolute graph file', changed('graphFile: model.onnx', 'graphFile: /model.onnx'), 'graphFile'],
    ['a short sha256', changed('{ path: model.onnx }', '{ path: a, sha256: abc }'), 'files[0].sha256'],
    ['npm with no files', changed('files: [{ path: model.onnx }]', 'files: []'), 'sources[0].files'],
    ['npm without files', changed('    files: [{ path: model.onnx }]\n', ''), 'sources[0].files'],
    ['E2EE without TEE', `${valid}\ncapabilities: { supportsE2EE: true }`, 'supportsE2EE needs supportsTeeAttestation'],
    ['many images without vision', `${valid}\ncapabilities: { supportsMultipleImages: true }`, 'needs supportsVision'],
    [
      'efforts without support',
      `${valid}\ncapabilities: { reasoningEffortOptions: [low] }`,
      'needs supportsReasoningEffort',
    ],
    ['reasoning of a model that does not', `${valid}\nreasoning: {}`, 'reasoning needs capabilities.supportsReasoning'],
    ['one delimiter', `${reasoning}\nreasoning: { open: '[THINK]' }`, 'reasoning.close is required'],
    ['an empty delimiter', `${reasoning}\nreasoning: { open: '', close: b }`, 'reasoning.open'],
    ['a budget of nothing', `${reasoning}\nreasoning: { budgets: { low: 0 } }`, 'reasoning.budgets.low'],
    ['a budget of no effort', `${reasoning}\nreasoning: { budgets: { none: 9 } }`, 'reasoning.budgets.none'],
    [
      'a budget of an effort that it lacks',
      `${reasoning}\nreasoning: { budgets: { high: 9 } }`,
      'budgets.high must be',
    ],
    ['more output than context', changed('maxCompletionTokens: 64', 'maxCompletionTokens: 129'), 'maxCompletionTokens'],
    ['a text model without prices', valid.replace(/pricing:.*/, ''), 'pricing is required for text models'],
    ['a trait without a rank', `${valid}\ntraits: { default: high }`, 'traits.default'],
    ['an alias with a colon', `${valid}\naliases: ["a:b"]`, 'aliases'],
    [
      'a remap to nowhere',
      `${valid}\ndeprecation: { autoRemap: true, date: 2027-01-01, removesAt: 2027-01-01 }`,
      'deprecation.autoRemap',
    ],
    [
      'two dates of removal',
      `${valid}\ndeprecation: { autoRemap: false, date: 2027-01-01, removesAt: 2027-02-01 }`,
      'deprecation.date must be the same as removesAt',
    ],
    [
      'schemas without tools',
      `${valid}\ncapabilities: { supportsResponseSchema: true }`,
      'needs supportsFunctionCalling',
    ],
    [
      'a price in DIEM of its own',
      changed('{ usd: 2, diem: 2 }', '{ usd: 2, diem: 1 }'),
      'pricing.output.diem must be',
    ],
    [
      'a price of cache writes in one currency',
      changed('output: {', 'cache_write: { usd: 1 }, output: {'),
      'pricing.cache_write.diem is required',
    ],
    ...['hf:owner/name', 'file:weights', 'https://example.org/weights/'].map((uri) => [
      `an integrity of ${uri}`,
      changed('npm:some-package@1.0.0', `${uri}\n    integrity: sha512-AAAA`),
      'sources[0].integrity is checked for npm:',
    ]),
    ['broken YAML', 'id: [', 'some-model.yaml'],
    ['a list', '- id: a', 'is not a mapping'],
  ])('rejects %s and names the file and the field', (_, text, expected) => {
    const error = errorOf(text);
    expect(error.code).toBe('INVALID_MANIFEST');
    expect(error.message).toContain('some-model.yaml: ');
    expect(error.message).toContain(expected);
  });

  it('lists every problem, not only the first', () => {
    const error = errorOf(valid.replace('name: Some model', '').replace('license: MIT', 'licence: MIT'));
    expect(error.issues?.map(({ path }) => path[0])).toEqual(expect.arrayContaining(['name', 'license', 'licence']));
  });
});

describe('manifests of other kinds', () => {
  const common = valid
    .replace(/constraints:.*/, '')
    .replace(/pricing:.*/, '')
    .replace('contextLength: 128', '')
    .replace('maxCompletionTokens: 64', '');
  const price = '{ usd: 1, diem: 1 }';

  it.each([
    [
      'image',
      `constraints: { promptCharacterLimit: 1500, steps: { default: 4, max: 8 }, widthHeightDivisor: 8 }\npricing: { generation: ${price}, quality: { 1K: { low: ${price} } }, upscale: { 2x: ${price}, 4x: ${price} } }`,
    ],
    [
      'inpaint',
      `constraints: { aspectRatios: [], promptCharacterLimit: 100, combineImages: false }\npricing: { inpaint: ${price} }`,
    ],
    [
      'video',
      `constraints: { aspect_ratios: [], resolutions: [], durations: ["5s"], model_type: video, audio: false, audio_configurable: false }\nkindMembers: { supported_inputs: [image_url] }\npricing: { per_second: ${price} }`,
    ],
    [
      'embedding',
      `pricing: { input: ${price}, output: ${price} }\nkindMembers: { embeddingDimensions: 384, maxInputTokens: 256, supportsCustomDimensions: false }`,
    ],
    ['tts', `pricing: { input: ${price} }\nkindMembers: { voices: [a] }`],
    ['asr', `pricing: { per_audio_second: ${price} }`],
    ['music', `pricing: { durations: { short: { usd: 1, diem: 1, min_seconds: 1, max_seconds: 9 } } }`],
  ])('accepts the shapes of the API for %s', (type, shapes) => {
    const manifest = parseManifest(`${common.replace('type: text', `type: ${type}`)}\n${shapes}`, 'other.yaml');
    expect(manifest.type).toBe(type);
  });

  it('lists every wrong option of a network that removes backgrounds', () => {
    const text = `${common.replace('type: text', 'type: inpaint').replace(/family: .*/, 'family: matting')}
familyOptions: { width: 1024, height: 0, mean: 0.5, std: 1 }
constraints: { aspectRatios: [], promptCharacterLimit: 1, combineImages: false }
pricing: { inpaint: ${price} }`;
    const { message } = errorOf(text);
    for (const problem of ['height must be', 'std is no option', 'deviation must be', 'postprocess must be']) {
      expect(message).toContain(`familyOptions.${problem}`);
    }
    expect(message).not.toContain('familyOptions.mean');
  });

  it('rejects two music price models at once', () => {
    const text = `${common.replace('type: text', 'type: music')}\npricing: { per_second: ${price}, generation: ${price} }`;
    expect(errorOf(text).message).toContain('pricing must be exactly one of');
  });

  const video = (
    constraints: string,
    members: string,
    pricing: string,
  ) => `${common.replace('type: text', 'type: video')}
constraints: { aspect_ratios: [], ${constraints}, audio: false, audio_configurable: false }
kindMembers: { supported_inputs: [video_url]${members} }
pricing: ${pricing}`;
  const making = 'resolutions: [480p, 720p], durations: ["5s"], model_type: text-to-video';
  const upscaling = 'resolutions: [], durations: [], model_type: video';

  it.each([
    ['a resolution', video(making, '', `{ resolutions: { 480p: ${price} } }`), 'resolutions must price 720p'],
    ['all resolutions', video(making, '', '{}'), 'pricing.resolutions must price 480p, 720p, or pricing.per_second'],
    [
      'a video',
      video('resolutions: [], durations: ["5s"], model_type: text-to-video', '', '{}'),
      'per_second is required',
    ],
    [
      'a factor',
      video(upscaling, ', upscale_factors: [2, 4]', `{ upscale: { 2x: ${price} } }`),
      'upscale must price 4x',
    ],
    ['the default factor', video(upscaling, '', `{ per_second: ${price} }`), 'pricing.upscale must price 2x'],
  ])('rejects prices of videos that leave out %s', (_, text, expected) => {
    expect(errorOf(text).message).toContain(expected);
  });

  it.each([
    video(making, '', `{ per_second: ${price} }`),
    video(making, '', `{ resolutions: { 480p: ${price}, 720p: ${price} } }`),
    video(upscaling, '', `{ upscale: { 2x: ${price} } }`),
    video(making, '', '{}').replace(/pricing:.*/, ''),
  ])('accepts complete prices of videos, and none at all', (text) => {
    expect(parseManifest(text, 'video.yaml').type).toBe('video');
  });

  const image = (constraints: string, pricing: string) => `${common.replace('type: text', 'type: image')}
constraints: { promptCharacterLimit: 1500, steps: { default: 4, max: 8 }, widthHeightDivisor: 8${constraints} }
pricing: { ${pricing}, upscale: { 2x: ${price}, 4x: ${price} } }`;
  const grid = `low: ${price}, medium: ${price}, high: ${price}`;

  it.each([
    ['the default image', image('', `resolutions: { 2K: ${price} }`), 'must price 1K, or pricing.generation'],
    ['qualities of the default image', image(', qualities: [high]', `quality: { 1K: { high: ${price} } }`), 'price 1K'],
    ['a resolution', image(', resolutions: [1K, 2K]', `resolutions: { 1K: ${price} }`), 'resolutions must price 2K'],
    [
      'a quality',
      image(', resolutions: [1K], qualities: [low, high]', `quality: { 1K: { low: ${price} } }`),
      'resolutions must price 1K',
    ],
    ['a request without qualities', image(', resolutions: [1K]', `quality: { 1K: { ${grid} } }`), 'must price 1K'],
  ])('rejects prices of images that leave out %s', (_, text, expected) => {
    expect(errorOf(text).message).toContain(expected);
  });

  it.each([
    image('', `resolutions: { 1K: ${price} }`),
    image(', resolutions: [1K, 2K]', `generation: ${price}, resolutions: { 2K: ${price} }`),
    image(', resolutions: [1K, 2K]', `resolutions: { 1K: ${price}, 2K: ${price} }`),
    image(', resolutions: [1K], qualities: [low, medium, high]', `quality: { 1K: { ${grid} } }`),
  ])('accepts complete prices of images', (text) => {
    expect(parseManifest(text, 'image.yaml').type).toBe('image');
  });

  it.each([
    ['constraints.resolutions[1]', image(', resolutions: [1K, HD]', `generation: ${price}`)],
    ['constraints.defaultResolution', image(', defaultResolution: large', `generation: ${price}`)],
    ['pricing.resolutions.9K', image('', `generation: ${price}, resolutions: { 720p: ${price}, 9K: ${price} }`)],
    ['pricing.quality.best', image('', `generation: ${price}, quality: { 1.5K: { ${grid} }, best: { ${grid} } }`)],
  ])('rejects an image tier that has no size: %s', (path, text) => {
    expect(errorOf(text).message).toMatch(`some-model.yaml: ${path} must mean a size`);
    expect(errorOf(text).issues).toHaveLength(1);
  });

  it('reads a manifest of an earlier release that a newer rule would reject', () => {
    const stored = {
      ...parseManifest(valid, 'a.yaml'),
      pricing: { input: { usd: 2, diem: 1 }, output: { usd: 1, diem: 1 } },
    };
    expect(() => validateManifest(stored, 'a.yaml')).toThrow('pricing.input.diem');
    expect(readStoredManifest(stored, 'manifest.json')).toEqual(stored);
    expect(() => readStoredManifest({ ...stored, colour: 'red' }, 'manifest.json')).toThrow('colour is not a field');
  });

  it('rejects a wrong price inside a named tier', () => {
    const text = `${common.replace('type: text', 'type: inpaint')}
constraints: { aspectRatios: [], promptCharacterLimit: 100, combineImages: false }
pricing: { inpaint: ${price}, resolutions: { 2K: { usd: 1 } } }`;
    expect(errorOf(text).message).toContain('pricing.resolutions has a member "2K"');
  });
});
