import { describe } from 'vitest';
import { bodiesWithImages, chatAbout, type LargestInput, testLargestInputs } from '#test/largest-inputs';
import { ServedPlatform } from '#test/served-platform';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyMusicgen } from '#test/tiny-generators';
import { installTinyDetector, installTinyImages } from '#test/tiny-images';
import { installTinyModel } from '#test/tiny-models';
import { installTinyReranker } from '#test/tiny-reranker';
import { installTinyVision } from '#test/tiny-vision';
import { installTinyKokoro } from '#test/tiny-voice';

/*
 * The largest input that the routes accept, one more, and the memory that the host of the model takes for the first.
 * Families whose limit depends on the memory of the worker are in request-memory.nightly-spec.ts, those without a tiny model
 * in test/models/largest-inputs.models-spec.ts, four hours of audio in largest-recording.nightly-spec.ts.
 */

const served = new ServedPlatform({
  install: async (home) => [
    ...(await installTinyImages(home)).filter(({ id }) =>
      ['tiny-upscaler', 'tiny-matte', 'nsfw-mobilenet'].includes(id),
    ),
    await installTinyModel(home, {
      id: 'tiny-llama',
      contextLength: 2_048,
      manifest: { inputAdapters: { image: ['tiny-detector'] } },
    }),
    await installTinyEncoder(home),
    await installTinyReranker(home, 'tiny-bert-reranker'),
    await installTinyKokoro(home),
    await installTinyMusicgen(home),
    await installTinyVision(home),
    await installTinyDetector(home),
  ],
});

/** One token a character for every tokenizer here. */
const marks = (count: number): string => '! '.repeat(count).trim();
const inputs: LargestInput[] = [
  {
    family: 'decoder: the whole context',
    model: 'tiny-llama',
    path: '/completions',
    bodies: async () => {
      const prompt = new Array<number>(2_047).fill(5);
      const body = { model: 'tiny-llama', max_tokens: 1 };
      return await Promise.resolve([
        { ...body, prompt },
        { ...body, prompt: [...prompt, 5] },
      ]);
    },
    refusal: { status: 400, message: /maximum context length is 2048 tokens/ },
    maxPeak: 100,
  },
  {
    family: 'text-embedding: 2,048 texts of 128 tokens',
    model: 'tiny-bert',
    path: '/embeddings',
    bodies: async () => {
      const input = new Array<string>(2_048).fill(marks(126));
      return await Promise.resolve([
        { model: 'tiny-bert', input },
        { model: 'tiny-bert', input: [...input, marks(126)] },
      ]);
    },
    refusal: { status: 400, message: /2048/ },
    maxPeak: 100,
  },
  {
    family: 'cross-encoder: 1,000 documents, each longer than what is read',
    model: 'tiny-bert-reranker',
    path: '/rerank',
    bodies: async () => {
      const documents = new Array<string>(1_000).fill(marks(300));
      const body = { model: 'tiny-bert-reranker', query: 'a query' };
      return await Promise.resolve([
        { ...body, documents },
        { ...body, documents: [...documents, '!'] },
      ]);
    },
    refusal: { status: 400, message: /1000/ },
    maxPeak: 100,
  },
  {
    family: 'kokoro: 4,096 characters without a full stop',
    model: 'tiny-kokoro',
    path: '/audio/speech',
    bodies: async () => {
      const input = 'hello world '.repeat(342).slice(0, 4_096);
      const body = { model: 'tiny-kokoro', response_format: 'pcm' };
      return await Promise.resolve([
        { ...body, input },
        { ...body, input: `${input}!` },
      ]);
    },
    refusal: { status: 400, message: /4096/ },
    maxPeak: 100,
  },
  {
    family: 'esrgan: a result of 16.7 megapixels',
    model: 'tiny-upscaler',
    path: '/image/upscale',
    bodies: () => bodiesWithImages([2_048, 2_048], (image) => ({ model: 'tiny-upscaler', image, scale: 2 })),
    refusal: { status: 422, message: /more than 16777216 pixels/ },
    maxPeak: 600,
  },
  {
    family: 'modnet: 33.2 megapixels',
    model: 'tiny-matte',
    path: '/image/background-remove',
    bodies: () => bodiesWithImages([7_680, 4_320], (image) => ({ image })),
    refusal: { status: 422, message: /33177600/ },
    maxPeak: 450,
  },
  {
    family: 'vision-language: 33.2 megapixels',
    model: 'tiny-idefics3',
    path: '/chat/completions',
    bodies: () => bodiesWithImages([7_680, 4_320], (image) => chatAbout('tiny-idefics3', image)),
    refusal: { status: 422, message: /33177600/ },
    maxPeak: 350,
  },
  {
    family: 'musicgen: the longest clip of the manifest',
    model: 'tiny-musicgen',
    path: '/audio/queue',
    bodies: async () => {
      const body = { model: 'tiny-musicgen', prompt: 'a slow waltz' };
      return await Promise.resolve([
        { ...body, duration_seconds: 4 },
        { ...body, duration_seconds: 5 },
      ]);
    },
    refusal: { status: 400, message: /duration_seconds/ },
    maxPeak: 100,
  },
  {
    family: 'coco-ssd: 33.2 megapixels in a chat',
    model: 'tiny-detector',
    path: '/chat/completions',
    bodies: () => bodiesWithImages([7_680, 4_320], (image) => chatAbout('tiny-llama', image)),
    refusal: { status: 422, message: /33177600/ },
    maxPeak: 250,
  },
];

describe('the largest input', () => {
  testLargestInputs(inputs, served);
});

// The route has one model: the one of the highest rank.
describe('the largest input of a network of the manifest', () => {
  const id = 'tiny-cutout';
  const cutout = new ServedPlatform({
    install: async (home) => (await installTinyImages(home)).filter((manifest) => manifest.id === id),
  });
  const matting: LargestInput = {
    family: 'matting: 33.2 megapixels',
    model: id,
    path: '/image/background-remove',
    bodies: () => bodiesWithImages([7_680, 4_320], (image) => ({ image })),
    refusal: { status: 422, message: /33177600/ },
    maxPeak: 450,
  };
  testLargestInputs([matting], cutout);
});
