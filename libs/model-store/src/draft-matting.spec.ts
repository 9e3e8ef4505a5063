import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WeightsServer } from '#test/weights-server';
import { bytesOf, GraphBuilder, writeOnnxModel } from './onnx/index.js';
import { draftManifest } from './draft-manifest.js';

const fixtures = join(import.meta.dirname, '../../inference/src/families/matting/__fixtures__');
const commit = 'd'.repeat(40);
const json = (content: object) => Buffer.from(JSON.stringify(content));

/** As published for BiRefNet and RMBG 2.0. */
const imagenet = {
  do_normalize: true,
  do_rescale: true,
  do_resize: true,
  feature_extractor_type: 'ViTFeatureExtractor',
  image_mean: [0.485, 0.456, 0.406],
  image_processor_type: 'ViTFeatureExtractor',
  image_std: [0.229, 0.224, 0.225],
  resample: 2,
  rescale_factor: 0.00392156862745098,
  size: { height: 1_024, width: 1_024 },
};
/** As published for RMBG 1.4 and ISNet. */
const halves = {
  do_normalize: true,
  do_pad: false,
  do_rescale: true,
  do_resize: true,
  image_mean: [0.5, 0.5, 0.5],
  feature_extractor_type: 'ImageFeatureExtractor',
  image_std: [1, 1, 1],
  resample: 2,
  rescale_factor: 0.00392156862745098,
  size: { width: 1_024, height: 1_024 },
};
/** As published for MODNet. */
const modnet = { ...halves, image_std: [0.5, 0.5, 0.5], size: { shortest_edge: 512 }, size_divisibility: 32 };
const rmbg = { architectures: ['BriaRMBG'], model_type: 'SegformerForSemanticSegmentation', in_ch: 3, out_ch: 1 };

let folder: string;
let server: WeightsServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'draft-matting-'));
  server = await WeightsServer.start();
});
afterEach(async () => {
  await rm(folder, { recursive: true });
  await server.close();
});

interface Network {
  name?: string;
  config: object;
  preprocessor: object;
  /** Fixtures by the names of the graphs. */
  graphs?: Record<string, string>;
  others?: Record<string, Buffer>;
}

/** Publishes a repository, and returns how `models add` names it. */
async function publish({ name = 'team/Cutter-ONNX', config, preprocessor, graphs, others }: Network): Promise<string> {
  const entries = Object.entries(graphs ?? { 'onnx/model.onnx': 'birefnet' });
  const read = entries.map(
    async ([path, fixture]) => [path, await readFile(join(fixtures, `${fixture}.onnx`))] as const,
  );
  server.addRepository(name, commit, {
    'config.json': json(config),
    'preprocessor_config.json': json(preprocessor),
    ...Object.fromEntries(await Promise.all(read)),
    ...others,
  });
  return `hf:${name}`;
}

const draft = (source: string, options = {}) => draftManifest(source, { hubEndpoint: server.url }, options);

describe('the draft of a matting network', () => {
  it('has the statistics of its files, the size of its graph, and logits as such', async () => {
    const graphs = { 'onnx/model.onnx': 'birefnet', 'onnx/model_fp16.onnx': 'birefnet-half' };
    const source = await publish({ config: { model_type: 'birefnet' }, preprocessor: imagenet, graphs });
    const { manifest, facts } = await draft(source, { license: 'MIT' });
    expect(manifest).toMatchObject({
      id: 'cutter',
      type: 'inpaint',
      family: 'matting',
      license: 'MIT',
      graphFile: 'onnx/model.onnx',
      traits: { background_removal: 30 },
      constraints: { aspectRatios: [], combineImages: false },
      pricing: { inpaint: { usd: 0, diem: 0 } },
    });
    expect(manifest.familyOptions).toEqual({
      // The graph takes no other size, whatever its processor says.
      width: 48,
      height: 48,
      mean: '0.485,0.456,0.406',
      deviation: '0.229,0.224,0.225',
      postprocess: 'sigmoid',
    });
    expect(manifest.sources).toHaveLength(1);
    expect(manifest.sources[0]?.uri).toBe(`hf:team/Cutter-ONNX@${commit}`);
    expect(manifest.sources[0]?.files.map(({ path }) => path).sort()).toEqual([
      'config.json',
      'onnx/model.onnx',
      'preprocessor_config.json',
    ]);
    expect(facts.summary).toBe('birefnet, ONNX graphs model.onnx');
    expect(facts.family?.size).toMatchObject({ family: 'matting', pixels: 48 * 48 });
  });

  it('is of the graph that is named, in half floats too', async () => {
    const graphs = { 'onnx/model.onnx': 'birefnet', 'onnx/model_fp16.onnx': 'birefnet-half' };
    const source = await publish({ config: { model_type: 'birefnet' }, preprocessor: imagenet, graphs });
    for (const name of ['model_fp16.onnx', 'onnx/model_fp16.onnx']) {
      const { manifest } = await draft(`${source}:${name}`);
      expect(manifest.graphFile).toBe('onnx/model_fp16.onnx');
      expect(manifest.capabilities.quantization).toBe('fp16');
    }
    await expect(draft(`${source}:model_q4.onnx`)).rejects.toThrow(
      'has no graph model_q4.onnx. There are: onnx/model.onnx, onnx/model_fp16.onnx',
    );
  });

  it.each([
    ['RMBG 1.4 with weights of other formats beside it', 'briaai/RMBG-1.4', rmbg, 'min-max'],
    ['ISNet', 'team/ISNet-ONNX', { model_type: 'isnet' }, 'min-max'],
    ['RMBG 2.0', 'briaai/RMBG-2.0', { architectures: ['BiRefNet'] }, 'none'],
    ['a network that only its graph tells', 'team/Fine-ONNX', { model_type: 'swin' }, 'none'],
  ])('takes the output of a graph that ends in a sigmoid as published: %s', async (_, name, config, postprocess) => {
    const others = { 'model.safetensors': Buffer.alloc(64), 'model.pth': Buffer.alloc(64) };
    const graphs = { 'onnx/model.onnx': 'rmbg-2', 'onnx/model_quantized.onnx': 'rmbg-2' };
    const source = await publish({ name, config, preprocessor: halves, graphs, others });
    const { manifest } = await draft(source);
    expect(manifest.familyOptions).toEqual({ width: 48, height: 48, mean: 0.5, deviation: 1, postprocess });
  });

  it('names the matte among other outputs', async () => {
    const graphs = { 'model.onnx': 'isnet' };
    const source = await publish({ config: { model_type: 'isnet' }, preprocessor: halves, graphs });
    const { manifest } = await draft(source);
    expect(manifest).toMatchObject({
      graphFile: 'model.onnx',
      familyOptions: { width: 64, height: 48, output: 'matte' },
    });
  });

  it('has the bounds of its processor where the graph takes every size', async () => {
    const graphs = { 'onnx/model.onnx': 'scaled' };
    const preprocessor = { ...modnet, resample: 3, do_rescale: false };
    const source = await publish({ config: { model_type: 'modnet' }, preprocessor, graphs });
    const { manifest } = await draft(source);
    expect(manifest.familyOptions).toEqual({
      shortSide: 512,
      multipleOf: 32,
      resampling: 'bicubic',
      scale: 1,
      mean: 0.5,
      deviation: 0.5,
      postprocess: 'none',
    });
  });

  it('is of a folder on this disk, with weights beside the graph', async () => {
    await cp(join(fixtures, 'rmbg-2.onnx'), join(folder, 'model.onnx'));
    await writeFile(join(folder, 'model.onnx_data'), Buffer.alloc(300_000));
    await writeFile(join(folder, 'config.json'), json(rmbg));
    await writeFile(join(folder, 'preprocessor_config.json'), json(halves));
    const { manifest } = await draftManifest(`file:${folder}`, {});
    expect(manifest.family).toBe('matting');
    expect(manifest.sources[0]?.files.map(({ path }) => path)).toContain('model.onnx_data');
    expect(manifest.installedBytes).toBeGreaterThan(300_000);
  });

  it.each([
    [{ image_mean: undefined }, 'preprocessor_config.json of hf:team/Cutter-ONNX has no image_mean of one or three'],
    [{ image_std: [1, 'x', 1] }, 'has no image_std of one or three numbers'],
    [{ image_std: 0 }, 'familyOptions.deviation must be a number above 0'],
    [{ resample: 0 }, 'resamples with the filter 0'],
    [{ size: undefined }, 'says what size of images it takes'],
    [{ size: { shortest_edge: 5_000 } }, 'familyOptions.shortSide must be a whole number of pixels from 1 to 4096'],
    [{ do_pad: true }, 'pads images'],
  ])('is refused before the download with %j in its processor', async (changes, message) => {
    const graphs = { 'onnx/model.onnx': 'scaled' };
    const preprocessor = { ...modnet, ...changes };
    const source = await publish({ config: { model_type: 'modnet' }, preprocessor, graphs });
    await expect(draft(source)).rejects.toThrow(message);
  });

  /** A graph from one image to planes of these channels, in so many inputs. */
  async function graphOf({ channels = 1, inputs = 1, weightBytes = 8 }): Promise<Buffer> {
    const builder = new GraphBuilder('other');
    const names = Array.from({ length: inputs }, (_, index) => builder.input(`in${index}`, 'float32', [1, 3, 8, 8]));
    const weight = () => bytesOf(new Float32Array(weightBytes / 4));
    builder.weight('unused', 'float32', [weightBytes / 4], weight);
    const mean = builder.node('ReduceMean', names.slice(0, 1), { axes: [1], keepdims: 1 });
    builder.node('Concat', new Array<string>(channels).fill(mean), { axis: 1 }, 'out');
    builder.output('out', 'float32', [1, channels, 8, 8]);
    await writeOnnxModel(builder.build(), { folder, fileName: 'built.onnx', embedLimitBytes: Infinity });
    return await readFile(join(folder, 'built.onnx'));
  }

  it('is refused where the graph returns no matte', async () => {
    for (const shape of [{ channels: 2 }, { inputs: 2 }]) {
      const others = { 'onnx/model.onnx': await graphOf(shape) };
      const source = await publish({ config: { model_type: 'isnet' }, preprocessor: halves, graphs: {}, others });
      await expect(draft(source)).rejects.toThrow('onnx/model.onnx does not return one matte for one image');
    }
    const others = { 'onnx/model.onnx': Buffer.from('<html>not found</html>') };
    const source = await publish({ config: { model_type: 'isnet' }, preprocessor: halves, graphs: {}, others });
    await expect(draft(source)).rejects.toThrow('onnx/model.onnx is no ONNX graph');
  });

  it('leaves models of other kinds to others', async () => {
    const config = { architectures: ['ViTForImageClassification'], model_type: 'vit' };
    const source = await publish({ config, preprocessor: imagenet });
    await expect(draft(source)).rejects.toThrow('has a ViTForImageClassification; of text models');
  });

  it('reads a graph behind a url in few requests, and none of its large weights', async () => {
    const weightBytes = 40 * 1024 * 1024;
    const others = { 'onnx/model.onnx': await graphOf({ weightBytes }) };
    const source = await publish({ config: { model_type: 'isnet' }, preprocessor: halves, graphs: {}, others });
    await draft(source);
    const requests = server.seen.filter(({ path, range }) => path.endsWith('model.onnx') && range !== null);
    expect(requests.length).toBeGreaterThan(1);
    const bytes = requests.map(({ range }) => {
      const [, first, last] = /bytes=(\d+)-(\d+)/.exec(range ?? '') ?? [];
      return Number(last) - Number(first) + 1;
    });
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1024 * 1024);
  });

  it('refuses options that change nothing', async () => {
    const source = await publish({ config: { model_type: 'birefnet' }, preprocessor: imagenet });
    for (const options of [{ contextLength: 100 }, { weights: 'int8' as const }, { inputPriceUsd: 1 }]) {
      await expect(draft(source, options)).rejects.toThrow(/changes nothing for .*family matting/);
    }
  });
});
