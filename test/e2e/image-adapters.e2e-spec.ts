import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeImage } from '#media';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyDetector } from '#test/tiny-images';
import { installTinyModel } from '#test/tiny-models';
import { installTinyWhisper, tinyWhisperText } from '#test/tiny-speech';
import { recordTone, toneWav } from '#test/tone-recording';

/* Images, videos and repeated inputs of a text model that does not see, whose adapters find a dog or a cat in brightness. */

const imageNano = 1_000_000n;
const secondNano = 1_000_000n;
const model = 'tiny-llama';

type Part = OpenAI.ChatCompletionContentPart | { type: 'video_url'; video_url: { url: string } };

let platform: Platform;
let client: OpenAI;
let home: string;
let scratch: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  scratch = await mkdtemp(join(tmpdir(), 'sluice-images-'));
  const seeing = (id: string, image: string[]) =>
    installTinyModel(home, { id, manifest: { inputAdapters: { audio: 'tiny-whisper', image } } });
  const manifests = [
    await installTinyWhisper(home),
    await installTinyDetector(home),
    await installTinyDetector(home, { id: 'cat-detector', kind: 17 }),
    await seeing(model, ['tiny-detector', 'cat-detector']),
    await seeing('adapter-unknown', ['tiny-detector', 'no-such-model']),
    await seeing('adapter-visible', ['tiny-whisper']),
    await installTinyModel(home, { id: 'no-adapter' }),
  ];
  platform = await startPlatform({ engine: 'text', home, manifests });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});

afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
    await rm(scratch, { recursive: true, force: true });
  }
});

/** An image of one gray; brighter than the middle, it shows a dog and a cat to the detectors. */
async function imagePart(grey: number, size = 64): Promise<Part> {
  const data = new Uint8Array(size * size * 3).fill(grey);
  const png = await encodeImage({ width: size, height: size, channels: 3, data }, { format: 'png' });
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } };
}

async function videoPart(name: string, ...frames: string[]): Promise<Part> {
  const bytes = await recordTone(scratch, name, frames);
  return { type: 'video_url', video_url: { url: `data:video/mp4;base64,${bytes.toString('base64')}` } };
}

const bodyOf = (content: Part[], more: object = {}) => ({
  model,
  messages: [{ role: 'user', content }] as OpenAI.ChatCompletionMessageParam[],
  max_tokens: 4,
  temperature: 0,
  ...more,
});

const ask = (content: Part[], more: object = {}) =>
  client.chat.completions.create(bodyOf(content, more) as OpenAI.ChatCompletionCreateParamsNonStreaming).withResponse();

interface Charge {
  request_id: string;
  model_id: string;
  charged_nano: string | null;
}

/** The jobs of a request in order, or all jobs, once they are closed. */
async function chargesOf(requestId = ''): Promise<Charge[]> {
  await platform.closedJobs();
  return await platform.query<Charge>(
    `SELECT jobs.request_id, jobs.model_id, holds.charged_nano FROM jobs
       LEFT JOIN holds ON holds.request_id = jobs.request_id
      WHERE starts_with(jobs.request_id, $1) ORDER BY jobs.created_at`,
    [requestId],
  );
}

const idOf = ({ headers }: Response): string => headers.get('cf-ray') ?? 'none';

async function artifacts(): Promise<string[]> {
  const entries = await readdir(join(home, 'artifacts'), { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.json')).map(({ name }) => name);
}

const text = (content: string): Part => ({ type: 'text', text: content });
const found = '[Found in an image, which is not shown]\nObjects: dog\nObjects: cat\n[End of image]';
const nothing = '[An image in which neither text nor a known object was found]';

describe('an image in a chat with a model that does not see', () => {
  it('enters the prompt as what the adapters find, each charged beside the tokens', async () => {
    const typed = await ask([text('What is this?'), text(found)]);
    const seen = await ask([text('What is this?'), await imagePart(200)]);
    expect(seen.data.choices).toEqual(typed.data.choices);
    expect(seen.data.usage?.prompt_tokens).toBe(typed.data.usage?.prompt_tokens);
    expect(seen.response.headers.get('x-service-input-adapter')).toBe('image=tiny-detector, image=cat-detector');
    const requestId = idOf(seen.response);
    const [dogs, cats, chat, ...others] = await chargesOf(requestId);
    expect(others).toEqual([]);
    expect(dogs).toEqual({
      request_id: `${requestId}.1`,
      model_id: 'tiny-detector',
      charged_nano: String(imageNano),
    });
    expect(cats).toMatchObject({ request_id: `${requestId}.2`, charged_nano: String(imageNano) });
    expect(chat).toMatchObject({ request_id: requestId, model_id: model });
    await expect.poll(artifacts).toEqual([]);
  });

  it('in which nothing is found says so', async () => {
    const typed = await ask([text(nothing)]);
    const seen = await ask([await imagePart(30)]);
    expect(seen.data.usage?.prompt_tokens).toBe(typed.data.usage?.prompt_tokens);
  });

  it('leaves the adapters hidden from clients', async () => {
    const { data } = await client.models.list({ query: { type: 'all' } });
    expect(data.map(({ id }) => id)).not.toContain('tiny-detector');
    const capabilities = data as unknown as {
      id: string;
      model_spec: { capabilities?: { supportsVision?: boolean } };
    }[];
    expect(capabilities.find(({ id }) => id === model)?.model_spec.capabilities?.supportsVision).toBe(false);
    const response = await fetch(`${platform.baseUrl}/image/generate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tiny-detector', prompt: 'x' }),
    });
    expect(response.status).toBe(404);
  });

  it.each([
    ['an adapter that is not installed', 'adapter-unknown', 400, 'no-such-model'],
    ['an adapter of another kind', 'adapter-visible', 400, 'tiny-whisper'],
    ['no adapter', 'no-adapter', 400, 'does not support images'],
  ])('is refused by a model with %s, at no cost', async (_, id, status, message) => {
    const before = await chargesOf();
    const error = await ask([text('Hi'), await imagePart(200, 70)], { model: id }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status, param: 'messages[0].content[1]', message: expect.stringContaining(message) });
    expect(await chargesOf()).toEqual(before);
    await expect.poll(artifacts).toEqual([]);
  });

  const link = (url: string): Part => ({ type: 'image_url', image_url: { url } });
  it.each([
    ['wrong base64', [link('data:image/png;base64,%%%')], '[0].image_url.url'],
    ['what is no image', [link('data:image/png;base64,aGVsbG8gd29ybGQ=')], '[0].image_url.url'],
    ['no URL', [link('cat.png')], '[0].image_url.url'],
    ['a private address', [link('http://127.0.0.1:1/cat.png')], '[0].image_url.url'],
    ['eleven images', Array.from({ length: 11 }, () => link('https://example.com/a.png')), '[10]'],
  ])('is refused for %s, at no cost', async (_, parts, place) => {
    const before = await chargesOf();
    const error = await ask(parts).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 400, param: `messages[0].content${place}` });
    expect(await chargesOf()).toEqual(before);
    await expect.poll(artifacts).toEqual([]);
  });
});

describe('a video in a chat with a model that does not see', () => {
  const bright = ['-f', 'lavfi', '-i', 'color=c=white:size=64x64:duration=5', '-shortest'];
  const dark = ['-f', 'lavfi', '-i', 'color=c=black:size=80x64:duration=5', '-shortest'];
  const heard = `[Transcript of the sound of a video]\n${tinyWhisperText}\n[End of transcript]`;
  const objects = 'Objects: dog\nObjects: cat';
  const times = ['0:00', '0:01', '0:03', '0:04'].map((time) => `At ${time}:\n${objects}`).join('\n');
  const shown = `[Found in 4 frames of a video, which are not shown]\n${times}\n[End of video frames]`;
  const unseen = '[Frames of a video in which neither text nor a known object was found]';

  it.each([
    ['bright', bright, shown],
    ['dark', dark, unseen],
  ])('that is %s enters the prompt as what four frames show and a transcript', async (name, frames, described) => {
    const typed = await ask([text(`${described}\n${heard}`)]);
    const { data, response } = await ask([await videoPart(`${name}.mp4`, ...frames)]);
    expect(data.usage?.prompt_tokens).toBe(typed.data.usage?.prompt_tokens);
    expect(data.choices).toEqual(typed.data.choices);
    expect(response.headers.get('x-service-input-adapter')).toBe(
      'image=tiny-detector, image=cat-detector, audio=tiny-whisper',
    );
    const charges = await chargesOf(idOf(response));
    const nanos = charges.slice(0, 3).map(({ charged_nano: nano }) => BigInt(nano ?? 0));
    expect(nanos.slice(0, 2)).toEqual([4n * imageNano, 4n * imageNano]);
    expect(nanos[2]).toBeGreaterThanOrEqual(5n * secondNano);
    await expect.poll(artifacts).toEqual([]);
  });
});

describe('inputs of earlier turns', () => {
  const turns = (content: Part[]) => ({
    messages: [
      { role: 'user', content },
      { role: 'assistant', content: 'I see.' },
      { role: 'user', content: 'And now?' },
    ],
  });

  it('are turned into text and charged once', async () => {
    const content = [
      await imagePart(222),
      { type: 'input_audio', input_audio: { data: toneWav(3).toString('base64') } },
    ];
    const first = await ask(content as Part[]);
    expect(await chargesOf(idOf(first.response))).toHaveLength(4);
    const second = await ask([], turns(content as Part[]));
    const [chat, ...others] = await chargesOf(idOf(second.response));
    expect([chat?.request_id, others]).toEqual([idOf(second.response), []]);
    const heard = `[Transcript of an audio message]\n${tinyWhisperText}\n[End of transcript]`;
    const typed = await ask([], turns([text(found), text(heard)]));
    expect(second.data.usage?.prompt_tokens).toBe(typed.data.usage?.prompt_tokens);
    expect(second.response.headers.get('x-service-input-adapter')).toBe(
      first.response.headers.get('x-service-input-adapter'),
    );
  });

  it('twice in one request are charged once', async () => {
    const part = await imagePart(233);
    const { response } = await ask([part, part]);
    const charges = await chargesOf(idOf(response));
    expect(charges.map(({ model_id: id }) => id)).toEqual(['tiny-detector', 'cat-detector', model]);
  });
});
