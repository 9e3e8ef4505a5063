import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decoderMemory } from '#model-memory';
import { copyTinyVision, tinyVisionConfig, tinyVisionNames } from '#test/tiny-vision-models';
import { WeightsServer } from '#test/weights-server';
import { convertModel } from './convert/index.js';
import { draftManifest } from './draft-manifest.js';
import { readDecoderSize } from './memory/index.js';

let folder: string;
let server: WeightsServer;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'draft-vision-')), 'Tiny-VL-Instruct');
  server = await WeightsServer.start();
});
afterEach(async () => {
  await server.close();
  await rm(join(folder, '..'), { recursive: true });
});

async function editConfig(edit: (config: Record<string, unknown>) => void): Promise<void> {
  const path = join(folder, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  edit(config);
  await writeFile(path, JSON.stringify(config));
}

async function convert(options: Record<string, string | number | boolean> = { images: true }): Promise<string> {
  const outputFolder = await mkdtemp(join(folder, '..', 'out-'));
  await convertModel({ kind: 'safetensors', options, inputFolder: folder, outputFolder });
  return outputFolder;
}

describe.each(tinyVisionNames)('the draft of a model that reads images: %s', (name) => {
  beforeEach(() => copyTinyVision(name, folder));

  it('names family, encoder and tokens of an image, and pulls the settings of images', async () => {
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    expect(manifest).toMatchObject({
      family: 'vision-language',
      graphFile: 'model.onnx',
      converter: { kind: 'safetensors', options: { weights: 'stored', contextLength: 512, images: true } },
      capabilities: { supportsVision: true, supportsMultipleImages: true, supportsVideoInput: true },
      familyOptions: { visionEncoder: 'vision_encoder.onnx', imageTokens: expect.any(Number) },
      traits: { instruct: 20 },
    });
    expect(manifest.sources[0]?.files.map(({ path }) => path)).toContain('preprocessor_config.json');
    expect(facts.summary).toContain(', reads images; served as float32');
  });

  it('estimates the files and the memory of the conversion', async () => {
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    const installed = await convert(manifest.converter.options);
    const names = ['model.onnx', 'vision_encoder.onnx'];
    const sizes = await Promise.all(names.map(async (each) => (await stat(join(installed, each))).size));
    const whole = sizes.reduce((sum, size) => sum + size, 0);
    // The graphs themselves count in so small a model.
    expect(whole - facts.weightsBytes).toBeGreaterThan(0);
    expect(whole - facts.weightsBytes).toBeLessThan(80_000);
    const found = await readDecoderSize(installed, manifest);
    const drafted = facts.decoder?.size.vision;
    expect(found?.vision).toMatchObject({ ...drafted, weightsBytes: expect.any(Number) });
    const ratio = (found?.vision?.weightsBytes ?? 0) / (drafted?.weightsBytes ?? 0);
    expect(Math.abs(ratio - 1)).toBeLessThan(0.02);
    const use = { slots: 1, contextLength: 512, cacheTokens: 512 };
    if (found === null) throw new Error('the graph is no decoder');
    expect(decoderMemory(found, use).image).toBeGreaterThan(0);
    expect(decoderMemory({ ...found, vision: undefined }, use).image).toBe(0);
  });

  it('reads configuration and headers of a repository only', async () => {
    const files = await readdir(folder);
    const contents = await Promise.all(files.map(async (each) => [each, await readFile(join(folder, each))] as const));
    server.addRepository('team/Tiny-VL', 'c'.repeat(40), Object.fromEntries(contents));
    const { manifest } = await draftManifest('hf:team/Tiny-VL', { hubEndpoint: server.url });
    expect(manifest.family).toBe('vision-language');
    const weights = `/team/Tiny-VL/resolve/${'c'.repeat(40)}/model.safetensors`;
    const ranges = server.requestsOf(weights).map(({ range }) => range);
    const length = Number((await readFile(join(folder, 'model.safetensors'))).readBigUInt64LE());
    expect(ranges).toEqual(['bytes=0-0', 'bytes=0-7', `bytes=8-${7 + length}`]);
  });

  it('is a model of text without the settings of images', async () => {
    await rm(join(folder, 'preprocessor_config.json'));
    const { manifest } = await draftManifest(`file:${folder}`, {});
    expect(manifest).toMatchObject({ family: 'decoder', converter: { options: { weights: 'stored' } } });
    expect(manifest.converter.options).not.toHaveProperty('images');
  });

  it('is refused before a download if the encoder does not fit its settings', async () => {
    await editConfig(({ vision_config: vision }) => {
      const settings = vision as Record<string, number>;
      const layers = settings['depth'] === undefined ? 'num_hidden_layers' : 'depth';
      settings[layers] = (settings[layers] ?? 0) + 1;
    });
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(/it has no tensor \S*\d+\./);
  });

  it('takes no other layout of the cache', async () => {
    const draft = convert({ images: true, layout: 'concat' });
    await expect(draft).rejects.toMatchObject({ code: 'INVALID_MODEL', param: 'converter.options.layout' });
  });
});

it('counts the crops of an image where pan and scan is on', async () => {
  await copyTinyVision('gemma3', folder);
  const path = join(folder, 'preprocessor_config.json');
  const published = JSON.parse(await readFile(path, 'utf8')) as object;
  const tokensWith = async (settings: object) => {
    await writeFile(path, JSON.stringify({ ...published, ...settings }));
    return (await draftManifest(`file:${folder}`, {})).manifest.familyOptions;
  };
  expect(await tokensWith({})).toMatchObject({ imageTokens: 70, frameTokens: 70 });
  expect(await tokensWith({ do_pan_and_scan: true })).toMatchObject({ imageTokens: 428, frameTokens: 70 });
  const three = { do_pan_and_scan: true, pan_and_scan_max_num_crops: 3 };
  expect(await tokensWith(three)).toMatchObject({ imageTokens: 357, frameTokens: 70 });
});

it('a model without a part that sees is not converted with images', async () => {
  await copyTinyVision('qwen3-vl', folder);
  await editConfig((config) => delete config['vision_config']);
  await expect(convert()).rejects.toThrow(/no part that reads images/);
  expect((await tinyVisionConfig('qwen3-vl'))['vision_config']).toBeDefined();
});

describe('the draft of LLaVA', () => {
  beforeEach(() => copyTinyVision('llava', folder));

  it.each([
    [{ vision_feature_layer: -9 }, 'its vision_feature_layer is -9, and its encoder has 3 layers'],
    [{ vision_feature_layer: [-2, -1] }, 'its vision_feature_layer is [-2,-1], not a number'],
    [{ vision_feature_select_strategy: 'mean' }, 'its vision_feature_select_strategy is mean, not default or full'],
  ])('names a setting that is not computed: %j', async (settings, reason) => {
    await editConfig((config) => Object.assign(config, settings));
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(reason);
  });

  it('is that of a model of text where its encoder is another', async () => {
    await editConfig(
      ({ vision_config: vision }) => ((vision as { model_type: string }).model_type = 'siglip_vision_model'),
    );
    const { manifest } = await draftManifest(`file:${folder}`, {});
    expect(manifest.family).toBe('decoder');
  });
});

describe('the draft of LLaVA 1.6', () => {
  beforeEach(() => copyTinyVision('llava-next', folder));

  it('counts the tokens of the largest resolution, and of a frame without one', async () => {
    const { manifest } = await draftManifest(`file:${folder}`, {});
    // A tile has 4 by 4 tokens; 8 rows of 8 end with one more.
    expect(manifest.familyOptions).toMatchObject({ imageTokens: 16 + 8 * 9, frameTokens: 17 });
  });

  it('has the published resolutions where the file lists none', async () => {
    await editConfig((config) => {
      delete config['image_grid_pinpoints'];
    });
    const { manifest } = await draftManifest(`file:${folder}`, {});
    expect(manifest.familyOptions).toMatchObject({ imageTokens: 16 + 48 * 49 });
  });

  it.each([
    [
      { image_grid_pinpoints: [[56, 100]] },
      'its image_grid_pinpoints are not pairs of sides of 1 to 16 times its image_size, 56',
    ],
    [{ image_grid_pinpoints: [[56, 56 * 17]] }, 'its image_grid_pinpoints are not pairs'],
    [{ image_grid_pinpoints: [] }, 'its image_grid_pinpoints are not pairs'],
    [{ vision_feature_select_strategy: 'full' }, 'its vision_feature_select_strategy is full, and tiles have no place'],
  ])('names a setting that is not computed: %j', async (settings, reason) => {
    await editConfig((config) => Object.assign(config, settings));
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(reason);
  });
});
