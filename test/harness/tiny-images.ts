import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelManifest, validateManifest } from '#model-registry/manifest';
import { bytesOf, GraphBuilder, type OnnxGraph, writeOnnxModel } from '#model-store';
import { installFixture } from './install-fixture.js';

/*
 * Image models with predictable outputs, in the layouts of real ones: an upscaler that repeats pixels, mattes that are
 * the brightness, gray inpainting, a safety classifier that takes red for adult, and a tiny Stable Diffusion of random
 * weights. For tests only.
 */

const price = { usd: 0.01, diem: 0.01 };
/** Fixtures are not compiled: benches, which run from `dist`, read them from the sources. */
const root = new URL(import.meta.url.includes('/dist/test/harness/') ? '../../../' : '../../', import.meta.url);
const generators = new URL('libs/inference/src/families/stable-diffusion/__fixtures__/tiny', root);

/** Installs all of them in the models folder of a worker, and returns their manifests. */
export async function installTinyImages(home: string): Promise<ModelManifest[]> {
  const inpainting = { aspectRatios: [], promptCharacterLimit: 100, combineImages: true, maxInputImages: 2 };
  return [
    await installTiny(home, {
      manifest: {
        id: 'tiny-upscaler',
        type: 'upscale',
        family: 'esrgan',
        familyOptions: { fourfoldFile: 'x4.onnx' },
        graphFile: 'x2.onnx',
        traits: { default: 1 },
        pricing: { generation: price, upscale: { '2x': price, '4x': { usd: 0.02, diem: 0.02 } } },
      },
      graphs: { 'x2.onnx': repeatedPixels(2), 'x4.onnx': repeatedPixels(4) },
    }),
    await installTiny(home, {
      manifest: {
        id: 'tiny-matte',
        type: 'inpaint',
        family: 'modnet',
        traits: { background_removal: 1 },
        constraints: { ...inpainting, combineImages: false },
        pricing: { inpaint: price },
      },
      graphs: { 'model.onnx': brightness() },
    }),
    await installTiny(home, {
      manifest: {
        id: 'tiny-cutout',
        type: 'inpaint',
        family: 'matting',
        familyOptions: { width: 64, height: 32, mean: 0.5, deviation: '0.5,0.5,0.5', postprocess: 'sigmoid' },
        traits: { background_removal: 2 },
        constraints: { ...inpainting, combineImages: false },
        pricing: { inpaint: { usd: 0.02, diem: 0.02 } },
      },
      graphs: { 'model.onnx': brightnessLogits() },
    }),
    await installTiny(home, {
      manifest: {
        id: 'tiny-repair',
        type: 'inpaint',
        family: 'migan',
        traits: { default: 1 },
        constraints: inpainting,
        pricing: { inpaint: price, inputImages: { included: 1, additional: { usd: 0.001, diem: 0.001 } } },
      },
      graphs: { 'model.onnx': greyRepair() },
    }),
    await installTiny(home, {
      manifest: {
        id: 'tiny-redrawer',
        type: 'inpaint',
        family: 'stable-diffusion',
        familyOptions: { steps: 2, strength: 0.5, guidance: 1 },
        graphFile: 'unet/model.onnx',
        constraints: { ...inpainting, combineImages: false },
        pricing: { inpaint: price },
      },
      folder: generators,
    }),
    await installTinySafety(home),
    await installTiny(home, {
      manifest: {
        id: 'tiny-painter',
        type: 'image',
        family: 'stable-diffusion',
        graphFile: 'unet/model.onnx',
        constraints: { promptCharacterLimit: 100, steps: { default: 2, max: 400 }, widthHeightDivisor: 4 },
        pricing: { generation: price, upscale: { '2x': price, '4x': price } },
      },
      folder: generators,
    }),
    // Draws 64 pixels a side, in batches of two, and upscales them.
    await installTiny(home, {
      manifest: {
        id: 'tiny-drawer',
        type: 'image',
        family: 'stable-diffusion',
        familyOptions: { batch: 2, strength: 0.5 },
        graphFile: 'unet/model.onnx',
        constraints: {
          promptCharacterLimit: 100,
          steps: { default: 2, max: 4 },
          widthHeightDivisor: 2,
          aspectRatios: ['1:1'],
          resolutions: ['64', '256'],
          defaultResolution: '256',
        },
        kindMembers: {
          upscaling: { nativeSide: 64, model: 'tiny-upscaler' },
          stylePresets: { 'Line Art': 'thin lines' },
        },
        pricing: { generation: price, upscale: { '2x': price, '4x': { usd: 0.02, diem: 0.02 } } },
      },
      folder: generators,
    }),
    // The same with fewer latents per pixel, so that OpenAI's sizes cost no more than the small ones above.
    await installTiny(home, {
      manifest: {
        id: 'tiny-sketcher',
        type: 'image',
        family: 'stable-diffusion',
        graphFile: 'unet/model.onnx',
        traits: { default: 1 },
        constraints: { promptCharacterLimit: 100, steps: { default: 2, max: 4 }, widthHeightDivisor: 32 },
        pricing: { generation: price, upscale: { '2x': price, '4x': price } },
      },
      folder: generators,
      files: { 'vae_decoder/config.json': JSON.stringify({ block_out_channels: [4, 8, 8, 8, 8, 8] }) },
    }),
  ];
}

/** Installs the safety classifier, which takes red for adult. */
export async function installTinySafety(home: string): Promise<ModelManifest> {
  return await installTiny(home, {
    manifest: {
      id: 'nsfw-mobilenet',
      type: 'image',
      family: 'nsfw-mobilenet',
      internal: true,
      classifies: 'image',
    },
    graphs: { 'model.onnx': redClassifier() },
  });
}

/** Installs a classifier that takes every text with one word for toxic. */
export async function installTinyToxicity(home: string, word: string): Promise<ModelManifest> {
  return await installTiny(home, {
    manifest: {
      id: 'tiny-toxicity',
      type: 'embedding',
      family: 'text-classification',
      familyOptions: { labels: 'fine,toxic', maxTokens: 16 },
      internal: true,
      classifies: 'text',
    },
    graphs: { 'model.onnx': wordClassifier(5) },
    files: { 'vocab.txt': ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'a', word].join('\n') },
  });
}

/**
 * Installs an input adapter for images that finds one kind of object where an image is bright: its probability is the
 * mean brightness.
 */
export async function installTinyDetector(
  home: string,
  { id = 'tiny-detector', kind = 18 }: { id?: string; kind?: number } = {},
): Promise<ModelManifest> {
  return await installTiny(home, {
    manifest: {
      id,
      type: 'image',
      family: 'coco-ssd',
      internal: true,
      adapts: 'image',
      pricing: { per_image: { usd: 0.001, diem: 0.001 } },
    },
    graphs: { 'model.onnx': brightObject(kind) },
  });
}

/** A model to install; omitted manifest fields have fixture defaults. */
export interface TinyModelParts {
  manifest: Record<string, unknown> & { id: string };
  graphs?: Record<string, OnnxGraph>;
  /** Copied as a whole. */
  folder?: URL;
  /** Overwrites copied files. */
  files?: Record<string, string>;
}

/** Installs a model in the models folder of a worker. */
export async function installTiny(
  home: string,
  { manifest, graphs = {}, folder, files = {} }: TinyModelParts,
): Promise<ModelManifest> {
  const { id } = manifest;
  return await installFixture(home, { id, converter: 'none' }, async (target) => {
    if (folder !== undefined) await cp(folder, target, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(target, name), text);
    for (const [fileName, graph] of Object.entries(graphs)) await writeOnnxModel(graph, { folder: target, fileName });
    const whole = validateManifest(
      {
        name: id,
        description: 'A test fixture.',
        created: 1_700_000_000,
        ownedBy: 'sluice',
        modelSource: 'https://example.org/tiny',
        license: 'Apache-2.0',
        tier: 'XS',
        privacy: 'private',
        sources: [{ uri: 'file:/nowhere', files: [{ path: 'model.onnx' }] }],
        graphFile: 'model.onnx',
        ...manifest,
      },
      `${id}.yaml`,
    );
    await writeFile(join(target, 'manifest.json'), JSON.stringify(whole));
    return whole;
  });
}

const imageShape = [1, 3, 'h', 'w'];

function repeatedPixels(scale: number): OnnxGraph {
  const graph = new GraphBuilder('repeated-pixels');
  const input = graph.input('input', 'float32', imageShape);
  const scales = graph.weight('scales', 'float32', [4], () => bytesOf(Float32Array.of(1, 1, scale, scale)));
  const attributes = { mode: 'nearest', nearest_mode: 'floor', coordinate_transformation_mode: 'asymmetric' };
  graph.node('Resize', [input, '', scales], attributes, 'output');
  graph.output('output', 'float32', [1, 3, 'oh', 'ow']);
  return graph.build();
}

/** Samples range from -1 to 1. */
function brightness(): OnnxGraph {
  const graph = new GraphBuilder('brightness');
  const input = graph.input('input', 'float32', imageShape);
  const mean = graph.node('ReduceMean', [input], { axes: [1], keepdims: 1 });
  graph.node('Mul', [graph.node('Add', [mean, graph.float(1)]), graph.float(0.5)], {}, 'output');
  graph.output('output', 'float32', [1, 1, 'h', 'w']);
  return graph.build();
}

/** Of images of one size; samples range from -1 to 1. */
function brightnessLogits(): OnnxGraph {
  const graph = new GraphBuilder('brightness-logits');
  const input = graph.input('input_image', 'float32', [1, 3, 32, 64]);
  const mean = graph.node('ReduceMean', [input], { axes: [1], keepdims: 1 });
  graph.node('Mul', [mean, graph.float(8)], {}, 'output_image');
  graph.output('output_image', 'float32', [1, 1, 32, 64]);
  return graph.build();
}

function greyRepair(): OnnxGraph {
  const graph = new GraphBuilder('grey-repair');
  const image = graph.input('image', 'uint8', imageShape);
  const mask = graph.input('mask', 'uint8', [1, 1, 'h', 'w']);
  const byte = (value: number) => graph.weight(`byte-${value}`, 'uint8', [1], () => Uint8Array.of(value));
  const kept = graph.node('Equal', [graph.node('Cast', [mask], { to: 7 }), graph.integers([255])]);
  graph.node('Where', [kept, image, byte(128)], {}, 'result');
  graph.output('result', 'uint8', imageShape);
  return graph.build();
}

/** Its five classes: neutral is not red, porn is red. */
function redClassifier(): OnnxGraph {
  const graph = new GraphBuilder('red-judge');
  const input = graph.input('input', 'float32', [1, 3, 224, 224]);
  const means = graph.node('ReduceMean', [input], { axes: [2, 3], keepdims: 0 });
  const ofRed = [0, 0, -1, 1, 0];
  const weights = Float32Array.from([...ofRed, ...new Array<number>(10).fill(0)]);
  const product = graph.node('MatMul', [means, graph.weight('weights', 'float32', [3, 5], () => bytesOf(weights))]);
  const bias = graph.weight('bias', 'float32', [5], () => bytesOf(Float32Array.of(0, 0, 1, 0, 0)));
  graph.node('Add', [product, bias], {}, 'output');
  graph.output('output', 'float32', [1, 5]);
  return graph.build();
}

/** Two logits: the second is high if one of the ids is there. */
function wordClassifier(id: number): OnnxGraph {
  const graph = new GraphBuilder('word-classifier');
  const ids = graph.input('input_ids', 'int64', [1, 'tokens']);
  graph.input('attention_mask', 'int64', [1, 'tokens']);
  const found = graph.node('Cast', [graph.node('Equal', [ids, graph.integers([id])])], { to: 1 });
  const any = graph.node('ReduceMax', [found], { axes: [1], keepdims: 1 });
  const weight = (name: string, shape: number[], values: number[]): string =>
    graph.weight(name, 'float32', shape, () => bytesOf(Float32Array.from(values)));
  const product = graph.node('MatMul', [any, weight('weights', [1, 2], [-8, 8])]);
  graph.node('Add', [product, weight('bias', [2], [4, -4])], {}, 'logits');
  graph.output('logits', 'float32', [1, 2]);
  return graph.build();
}

/** One anchor over the whole image, with one class as probable as the image is bright. */
function brightObject(kind: number): OnnxGraph {
  const graph = new GraphBuilder('bright-object');
  const input = graph.input('input', 'float32', [1, 3, 'h', 'w']);
  const weight = (name: string, values: number[]): string =>
    graph.weight(name, 'float32', [1, 1, values.length], () => bytesOf(Float32Array.from(values)));
  const mean = graph.node('Reshape', [graph.node('GlobalAveragePool', [input]), graph.integers([1, 3])]);
  const grey = graph.node('ReduceMean', [mean], { keepdims: 1 });
  const bright = graph.node('Mul', [graph.node('Add', [grey, graph.float(1)]), graph.float(0.5)]);
  const onehot = Array.from({ length: 91 }, (_, index) => (index === kind ? 1 : 0));
  graph.node('Mul', [bright, weight('class', onehot)], {}, 'scores');
  graph.node('Identity', [weight('offsets', [0, 0, 0, 0])], {}, 'boxes');
  graph.node('Identity', [weight('anchor', [0, 0, 1, 1])], {}, 'anchors');
  for (const name of ['boxes', 'scores', 'anchors']) graph.output(name, 'float32', null);
  return graph.build();
}
