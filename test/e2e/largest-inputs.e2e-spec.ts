import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeImage } from '#media';
import { measurePeak } from '#test/measure-peak';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyMusicgen } from '#test/tiny-generators';
import { installTinyImages } from '#test/tiny-images';
import { installTinyModel } from '#test/tiny-models';
import { installTinyReranker } from '#test/tiny-reranker';
import { installTinyVision } from '#test/tiny-vision';
import { installTinyKokoro } from '#test/tiny-voice';

/*
 * The largest input that the routes accept, one more, and the memory that the host of the model takes for the first.
 * Families whose limit depends on the memory of the worker are in request-memory.e2e-spec.ts.
 */

interface Size {
  family: string;
  model: string;
  path: string;
  /** The largest accepted body, and one that is a little larger. */
  bodies(): Promise<[largest: object, larger: object]>;
  refusal: { status: number; message: RegExp };
  /** Most that the host takes for it beside its weights, in MB: the measured peak and room for noise. */
  maxPeak: number;
}

const mebibyte = 2 ** 20;

let home: string;
let platform: Platform;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const images = await installTinyImages(home);
  const manifests = [
    ...images.filter(({ id }) => ['tiny-upscaler', 'tiny-matte', 'nsfw-mobilenet'].includes(id)),
    await installTinyModel(home, { id: 'tiny-llama', contextLength: 2_048 }),
    await installTinyEncoder(home),
    await installTinyReranker(home, 'tiny-bert-reranker'),
    await installTinyKokoro(home),
    await installTinyMusicgen(home),
    await installTinyVision(home),
  ];
  platform = await startPlatform({ engine: 'text', home, manifests });
});
afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

async function post(path: string, body: object): Promise<Response> {
  return await fetch(`${platform.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** The response to a request, repeated as clients do while a busy machine keeps the stores from answering in time. */
async function accepted(path: string, body: object): Promise<Response> {
  let response = new Response();
  const send = async (): Promise<number> => (response = await post(path, body)).status;
  await expect.poll(send, { timeout: 60_000, interval: 1_000 }).not.toBe(503);
  return response;
}

async function png(width: number, height: number): Promise<string> {
  const data = new Uint8Array(width * height * 3).fill(90);
  return (await encodeImage({ width, height, channels: 3, data }, { format: 'png' })).toString('base64');
}

/** Bodies with an image of the largest size, and with one column more. */
async function withImages(
  [width, height]: [number, number],
  body: (image: string) => object,
): Promise<[object, object]> {
  return [body(await png(width, height)), body(await png(width + 1, height))];
}

/** One token a character for every tokenizer here. */
const marks = (count: number): string => '! '.repeat(count).trim();
const chat = (image: string): object => {
  const url = `data:image/png;base64,${image}`;
  const content = [
    { type: 'image_url', image_url: { url } },
    { type: 'text', text: 'What?' },
  ];
  return { model: 'tiny-idefics3', messages: [{ role: 'user', content }], max_completion_tokens: 2 };
};

const sizes: Size[] = [
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
    bodies: () => withImages([2_048, 2_048], (image) => ({ model: 'tiny-upscaler', image, scale: 2 })),
    refusal: { status: 422, message: /more than 16777216 pixels/ },
    maxPeak: 600,
  },
  {
    family: 'modnet: 33.2 megapixels',
    model: 'tiny-matte',
    path: '/image/background-remove',
    bodies: () => withImages([7_680, 4_320], (image) => ({ image })),
    refusal: { status: 422, message: /33177600/ },
    maxPeak: 450,
  },
  {
    family: 'vision-language: 33.2 megapixels',
    model: 'tiny-idefics3',
    path: '/chat/completions',
    bodies: () => withImages([7_680, 4_320], chat),
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
];

/** Waits for a queued job; other responses are complete. */
async function finish(path: string, model: string, text: string): Promise<void> {
  if (!path.endsWith('/queue')) return;
  const { queue_id } = JSON.parse(text) as { queue_id: string };
  const read = async (): Promise<string | null> => {
    const response = await post(path.replace('queue', 'retrieve'), { model, queue_id });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isResult = response.headers.get('content-type')?.startsWith('audio/') === true;
    return isResult ? `${response.status}` : `${response.status} ${bytes.toString('utf8', 0, 200)}`;
  };
  await expect.poll(read, { timeout: 120_000, interval: 200 }).toBe('200');
}

describe('the largest input', () => {
  it.each(sizes)(
    'of $family is processed, and a larger one refused',
    async (size) => {
      const { model, path, bodies, refusal, maxPeak } = size;
      const [largest, larger] = await bodies();
      const pid = platform.hostPid(model);
      const peakBytes = await measurePeak(pid, async () => {
        const response = await accepted(path, largest);
        const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
        expect(response.status, `${text.slice(0, 400)}\n${platform.log()}`).toBe(200);
        await finish(path, model, text);
      });
      expect(peakBytes / mebibyte).toBeLessThan(maxPeak);
      const refused = await post(path, larger);
      expect([refused.status, await refused.text()]).toEqual([refusal.status, expect.stringMatching(refusal.message)]);
      // The host is still the one that served it.
      expect(platform.hostPid(model)).toBe(pid);
    },
    300_000,
  );
});
