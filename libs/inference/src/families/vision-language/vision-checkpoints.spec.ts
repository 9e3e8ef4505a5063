import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertModel } from '#model-store';
import { graphForDevice } from '#model-store/device';
import { tinyVisionFolder, tinyVisionGgufFolder, tinyVisionGgufNames } from '#test/tiny-vision-models';
import { describeVisionModel } from './__fixtures__/describe-vision-model.js';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import { openGraph } from '../../runtime/open-graph.js';
import { TextTokenizer } from '../../text/index.js';
import { drawImage, floatsFrom, type KnownCase } from './__fixtures__/known-cases.js';
import { Gemma3Processor } from './gemma3.processor.js';
import { Idefics3Processor } from './idefics3.processor.js';
import { LlavaNextProcessor } from './llava-next.processor.js';
import { LlavaProcessor } from './llava.processor.js';
import { loadPreprocessor, type VisionLanguageConfig } from './preprocessor-config.js';
import { Qwen2VlProcessor } from './qwen2-vl.processor.js';
import type { ProcessorFiles } from './vision-processor.js';
import { VisionSession } from './vision-session.js';

/*
 * Models that read images as their authors and as llama.cpp's users have them, through the converter and the runtime, against the Python
 * reference (`tools/reference/tiny_vision_checkpoints.py`, `tiny_vision_gguf.py`).
 */

interface CheckpointCase extends Omit<KnownCase, 'pixels'> {
  pixels: { features: string } | null;
}

const qwen2Scales = { imageTokens: 6, frameTokens: 4, image: 6, frame: 2 };
const qwen3Scales = { imageTokens: 6, frameTokens: 2, image: 4, frame: 1 };

/** Settings of images that a model has in place of its own, and the tokens of an image that its draft then says. */
const panAndScan = {
  do_pan_and_scan: true,
  pan_and_scan_min_crop_size: 32,
  pan_and_scan_max_num_crops: 3,
  pan_and_scan_min_ratio_to_activate: 1.2,
};
const changed = new Map([['gemma3-pan-and-scan', { of: 'gemma3', settings: panAndScan, imageTokens: 357 }]]);

const gemma = { placeholder: '<start_of_image>', imageToken: '<image_soft_token>', scales: null };

const models = [
  { name: 'gemma3', ...gemma, Processor: Gemma3Processor },
  { name: 'gemma3-pan-and-scan', ...gemma, Processor: Gemma3Processor },
  { name: 'idefics3', placeholder: '<image>', scales: null, Processor: Idefics3Processor },
  { name: 'llava', placeholder: '<image>', scales: null, Processor: LlavaProcessor },
  { name: 'llava-next', placeholder: '<image>', scales: null, Processor: LlavaNextProcessor },
  { name: 'qwen2-vl', placeholder: '<|image_pad|>', scales: qwen2Scales, Processor: Qwen2VlProcessor },
  { name: 'qwen2.5-vl', placeholder: '<|image_pad|>', scales: qwen2Scales, Processor: Qwen2VlProcessor },
  { name: 'qwen3-vl', placeholder: '<|image_pad|>', scales: qwen3Scales, Processor: Qwen2VlProcessor },
  { name: 'qwen3-vl-moe', placeholder: '<|image_pad|>', scales: qwen3Scales, Processor: Qwen2VlProcessor },
  { name: 'qwen3.5', placeholder: '<|image_pad|>', scales: qwen3Scales, Processor: Qwen2VlProcessor },
  { name: 'qwen3.5-moe', placeholder: '<|image_pad|>', scales: qwen3Scales, Processor: Qwen2VlProcessor },
  { name: 'smolvlm', placeholder: '<image>', scales: null, Processor: Idefics3Processor },
];

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'vision-checkpoints-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

function hasFiles(name: string, kind: Kind): boolean {
  return kind === 'safetensors' || tinyVisionGgufNames.includes(name);
}

const converted = new Map<string, Promise<string>>();

type Kind = 'safetensors' | 'gguf';

function convert(name: string, kind: Kind): Promise<string> {
  const key = `${name} ${kind}`;
  const known = converted.get(key) ?? convertNew(name, kind);
  converted.set(key, known);
  return known;
}

async function convertNew(name: string, kind: Kind): Promise<string> {
  const outputFolder = await mkdtemp(join(folder, `${name}-`));
  if (kind === 'safetensors') {
    const { of = name, settings } = changed.get(name) ?? {};
    await convertModel({ kind, inputFolder: tinyVisionFolder(of), outputFolder, options: { images: true } });
    const path = join(outputFolder, 'preprocessor_config.json');
    const published = JSON.parse(readFileSync(path, 'utf8')) as object;
    await writeFile(path, JSON.stringify({ ...published, ...settings }));
    return outputFolder;
  }
  const projector = `mmproj-Tiny-${name}-F16.gguf`;
  await convertModel({ kind, inputFolder: tinyVisionGgufFolder(name), outputFolder, options: { projector } });
  return outputFolder;
}

async function optionsOf(name: string, kind: Kind): Promise<HostLoadOptions> {
  const { imageTokens } = changed.get(name) ?? {};
  return {
    modelId: name,
    directory: await convert(name, kind),
    graphFile: 'model.onnx',
    family: 'vision-language',
    familyOptions: { visionEncoder: 'vision_encoder.onnx', ...(imageTokens !== undefined && { imageTokens }) },
    providers: ['cpu'],
    intraOpThreads: 1,
    slots: 4,
    contextLength: 512,
    cacheTokens: 2_048,
  };
}

async function openFiles(directory: string): Promise<ProcessorFiles> {
  const modelPath = join(directory, 'vision_encoder.onnx');
  return {
    config: JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8')) as VisionLanguageConfig,
    preprocessor: await loadPreprocessor(directory),
    tokenizer: await TextTokenizer.load(directory),
    session: new VisionSession(await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 })),
  };
}

const kinds = ['safetensors', 'gguf'] as const;
const tested = models.flatMap((model) => kinds.map((kind) => ({ ...model, kind })));

for (const model of tested.filter(({ name, kind }) => hasFiles(name, kind))) {
  const { name, Processor, kind } = model;
  const { cases } = JSON.parse(readFileSync(`${tinyVisionFolder(name)}.json`, 'utf8')) as { cases: CheckpointCase[] };
  const options = () => optionsOf(name, kind);
  describeVisionModel({ ...model, name: `${name} as ${kind}`, cases, options });

  describe(`the encoder of ${name} as ${kind}`, () => {
    it.each(cases.filter(({ pixels }) => pixels !== null))(
      'has the features of transformers, to 1e-4',
      async (known) => {
        const processor = new Processor(await openFiles(await convert(name, kind)));
        const features: number[] = [];
        for (const [seed, size] of known.images.entries()) {
          const pixels = drawImage(size, seed);
          // Each processor takes the layouts that it made.
          const layout = (processor.layout as (image: object) => unknown).call(processor, { pixels, param: '' });
          features.push(...(await processor.encode(pixels, layout as never, () => true)));
        }
        const expected = floatsFrom(known.pixels?.features ?? '');
        expect(features).toHaveLength(expected.length);
        const furthest = features.reduce((far, value, at) => Math.max(far, Math.abs(value - (expected[at] ?? NaN))), 0);
        expect(furthest).toBeLessThan(1e-4);
        await processor.close();
      },
    );
  });
}

it.each(['smolvlm', 'qwen3-vl', 'qwen3.5'])(
  'keeps the split graph of a model that reads images on a device: %s',
  async (name) => {
    const file = { folder: await convert(name, 'safetensors'), graphFile: 'model.onnx' };
    expect(await graphForDevice(file, { takesHalfFloats: true, cacheInPlaceOn: 'cpu' })).toBeNull();
  },
);

it('reads a frame of a video with LLaVA 1.6 as the whole image without tiles', async () => {
  const { cases } = JSON.parse(readFileSync(`${tinyVisionFolder('llava-next')}.json`, 'utf8')) as {
    cases: CheckpointCase[];
  };
  const [known] = cases;
  const [size] = known?.images ?? [];
  if (known === undefined || size === undefined) throw new Error('there is no case with an image');
  const expected = floatsFrom(known.pixels?.features ?? '');
  const processor = new LlavaNextProcessor(await openFiles(await convert('llava-next', 'safetensors')));
  const pixels = drawImage(size, 0);
  const layout = processor.layout({ pixels, isFrame: true });
  const features = await processor.encode(pixels, layout, () => true);
  await processor.close();
  expect(layout.tokens).toBe(processor.maxFrameTokens);
  const width = features.length / layout.tokens;
  // The image comes first, and the end of a row last.
  const wanted = [...expected.subarray(0, (layout.tokens - 1) * width), ...expected.subarray(-width)];
  expect(features).toHaveLength(wanted.length);
  features.forEach((value, at) => expect(value).toBeCloseTo(wanted[at] ?? NaN, 4));
});
