import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeImage } from '#media';
import { noCapabilities } from '#model-registry/manifest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyWhisper, tinyWhisperText } from '#test/tiny-speech';
import { recordTone } from '#test/tone-recording';
import { drawImage, installTinyVision, type TinyVisionCase, tinyVisionCases } from '#test/tiny-vision';

/* Images in chats by the official client, on the product's engine with a tiny Idefics3 model of random weights. */

const model = 'tiny-idefics3';
const oneImageModel = 'one-image';
/** Sees videos and has another model for their sound; the other has none and two frames at most. */
const videoModel = 'video-and-sound';
const silentModel = 'video';

type Part = OpenAI.ChatCompletionContentPart | { type: 'video_url'; video_url: { url: string } };
type Messages = OpenAI.ChatCompletionMessageParam[];

let platform: Platform;
let client: OpenAI;
let home: string;
let cases: TinyVisionCase[];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  cases = await tinyVisionCases();
  const capabilities = { ...noCapabilities, supportsVision: true, quantization: 'not-available' } as const;
  const [plain, one] = [
    await installTinyVision(home),
    await installTinyVision(home, { id: oneImageModel, capabilities }),
  ];
  const watching = { ...plain.capabilities, supportsVideoInput: true, maxVideos: 2, supportsLogProbs: true };
  const manifests = [
    plain,
    one,
    await installTinyWhisper(home),
    await installTinyVision(home, {
      id: videoModel,
      capabilities: watching,
      familyOptions: { imageTokens: 100, frameTokens: 7 },
      inputAdapters: { audio: 'tiny-whisper' },
    }),
    await installTinyVision(home, { id: silentModel, capabilities: watching }),
  ];
  platform = await startPlatform({ engine: 'text', home, manifests });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

async function imagePart(size: [number, number], seed = 0): Promise<Part> {
  const png = await encodeImage({ ...drawImage(size, seed), channels: 3 }, { format: 'png' });
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } };
}

async function partsOf({ content, images }: TinyVisionCase): Promise<Part[]> {
  const drawn = await Promise.all(images.map((size, seed) => imagePart(size, seed)));
  return content.map((part) => (part.type === 'text' ? part : (drawn.shift() as Part)));
}

const bodyOf = (content: Part[], more: object = {}) => ({
  model,
  messages: [{ role: 'user', content }] as Messages,
  temperature: 0,
  max_tokens: 24,
  ...more,
});

const ask = (content: Part[], more: object = {}) =>
  client.chat.completions.create(bodyOf(content, more) as OpenAI.ChatCompletionCreateParamsNonStreaming);

/** The reference writes a last character that the token limit cuts as U+FFFD; here it is left out. */
const wholeCharacters = (text: string | null | undefined) => text?.replace(/\uFFFD$/, '').trimStart();

/** Files of stored artifacts. */
async function artifacts(): Promise<string[]> {
  const entries = await readdir(join(home, 'artifacts'), { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

describe('images in a chat', () => {
  it('are announced by GET /models', async () => {
    const { data } = await client.models.list();
    const listed = data as unknown as { id: string; model_spec: { capabilities: Record<string, boolean> } }[];
    const found = listed.map(({ id, model_spec: { capabilities: can } }) => [
      id,
      can.supportsVision,
      can.supportsMultipleImages,
    ]);
    expect(new Map(found.map(([id, ...can]) => [id, can]))).toEqual(
      new Map([
        [model, [true, true]],
        [oneImageModel, [true, false]],
        [videoModel, [true, true]],
        [silentModel, [true, true]],
      ]),
    );
  });

  it('are read as transformers reads them, beside rows of text alone', async () => {
    const answers = await Promise.all(cases.map(async (known) => await ask(await partsOf(known))));
    expect(answers.map(({ choices }) => wholeCharacters(choices[0]?.message.content))).toEqual(
      cases.map(({ text }) => wholeCharacters(text)),
    );
    expect(answers.map(({ usage }) => usage?.prompt_tokens)).toEqual(cases.map(({ promptIds }) => promptIds.length));
    expect(answers.map(({ usage }) => usage?.completion_tokens)).toEqual(
      cases.map(({ outputIds }) => outputIds.length),
    );
    await platform.closedJobs();
    await expect.poll(artifacts, { timeout: 15_000 }).toEqual([]);
  });

  it('are read the same in a stream, and from the cached prefix', async () => {
    const parts = await partsOf(cases[0] as TinyVisionCase);
    const stream = client.chat.completions.stream({
      ...bodyOf(parts),
      stream: true,
      stream_options: { include_usage: true },
    });
    const { choices, usage } = await stream.finalChatCompletion();
    const expected = wholeCharacters(cases[0]?.text);
    expect(wholeCharacters(choices[0]?.message.content)).toBe(expected);
    expect(usage?.prompt_tokens).toBe(cases[0]?.promptIds.length);
    const again = await ask(parts);
    expect(wholeCharacters(again.choices[0]?.message.content)).toBe(expected);
    expect(again.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(0);
  });

  it('can have 64 pixels per side, and stand beside structured output and tools', async () => {
    const image = await imagePart([64, 64]);
    const text: Part = { type: 'text', text: 'Which?' };
    const blind = await ask([text]);
    const seen = await ask([image, text]);
    // Nine tiles and the whole image, of four positions each.
    expect((seen.usage?.prompt_tokens ?? 0) - (blind.usage?.prompt_tokens ?? 0)).toBeGreaterThanOrEqual(40);
    const schema = { enum: ['left', 'right'] };
    const format = { type: 'json_schema', json_schema: { name: 'side', strict: true, schema } };
    const chosen = await ask([image, text], { response_format: format });
    expect(schema.enum).toContain(JSON.parse(chosen.choices[0]?.message.content ?? ''));
    const parameters = { type: 'object', properties: { at: { enum: [1, 2] } }, required: ['at'] };
    const tools = [{ type: 'function', function: { name: 'look', parameters } }];
    const called = await ask([image, text], { tools, tool_choice: 'required', max_tokens: 100 });
    const [call] = called.choices[0]?.message.tool_calls ?? [];
    expect(call).toMatchObject({ function: { name: 'look' } });
  });

  it('of the last message alone are read by a model of one image', async () => {
    const [first, second] = [await imagePart([64, 64]), await imagePart([80, 64], 1)];
    const text: Part = { type: 'text', text: 'And this?' };
    const asked = (earlier: Part[]) =>
      [
        { role: 'user', content: [...earlier, text] },
        { role: 'assistant', content: 'A cat.' },
        { role: 'user', content: [second, text] },
      ] as Messages;
    const answerTo = async (messages: Messages) =>
      await client.chat.completions.create({ model: oneImageModel, messages, temperature: 0, max_tokens: 8 });
    const [withBoth, withOne] = await Promise.all([answerTo(asked([first])), answerTo(asked([]))]);
    expect(withBoth.choices).toEqual(withOne.choices);
    expect(withBoth.usage?.prompt_tokens).toBe(withOne.usage?.prompt_tokens);
  });

  const png = (size: [number, number]) => imagePart(size);
  const link = (url: string): Promise<Part> => Promise.resolve({ type: 'image_url', image_url: { url } });
  it.each([
    ['wrong base64', model, () => [link('data:image/png;base64,%%%')], 400, '[0].image_url.url'],
    ['what is no image', model, () => [link('data:image/png;base64,aGVsbG8gd29ybGQ=')], 400, '[0].image_url.url'],
    ['no URL', model, () => [link('cat.png')], 400, '[0].image_url.url'],
    ['a private address', model, () => [link('http://127.0.0.1:1/cat.png')], 400, '[0].image_url.url'],
    ['32 pixels', model, () => [png([64, 64]), png([32, 64])], 400, '[1].image_url.url'],
    ['three images', model, () => [png([64, 64]), png([64, 64]), png([64, 64])], 400, '[2]'],
    ['a second image', oneImageModel, () => [png([64, 64]), png([64, 64])], 400, '[1]'],
  ])('are refused for %s, which is not charged', async (_, asked, parts, status, place) => {
    const jobs = (await platform.closedJobs()).length;
    const content = await Promise.all(parts());
    const error = await ask(content, { model: asked }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status, param: `messages[0].content${place}` });
    expect(await platform.closedJobs()).toHaveLength(jobs);
    await expect.poll(artifacts, { timeout: 15_000 }).toEqual([]);
  });

  it('are refused by a prompt that they make too long, which is not charged', async () => {
    const parts = [await imagePart([64, 64]), { type: 'text', text: 'word '.repeat(460) } as Part];
    const error = await ask(parts).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 400, param: 'messages' });
    await platform.closedJobs();
    const rows = await platform.query<{ charged_nano: string | null }>(
      'SELECT charged_nano FROM holds JOIN jobs USING (request_id) WHERE jobs.state = $1',
      ['failed'],
    );
    expect(rows.map(({ charged_nano: charged }) => Number(charged ?? 0))).toEqual([0]);
    await expect.poll(artifacts, { timeout: 15_000 }).toEqual([]);
  });
});

describe('videos in a chat with a model that sees', () => {
  const moving = ['-f', 'lavfi', '-i', 'testsrc=size=96x64:rate=8:duration=5', '-shortest'];

  async function videoPart(args: string[] = moving, name = 'moving.mp4'): Promise<Part> {
    const bytes = await recordTone(home, name, args);
    return { type: 'video_url', video_url: { url: `data:video/mp4;base64,${bytes.toString('base64')}` } };
  }

  it('are announced by GET /models', async () => {
    const { data } = await client.models.list();
    const listed = data as unknown as { id: string; model_spec: { capabilities: Record<string, boolean> } }[];
    const able = listed.filter(({ model_spec: { capabilities: can } }) => can.supportsVideoInput).map(({ id }) => id);
    expect(able.toSorted()).toEqual([silentModel, videoModel]);
  });

  it('enter the prompt as frames with their times, and the sound as a transcript', async () => {
    const video = await videoPart();
    const times = ['0:00', '0:00', '0:01', '0:02', '0:02', '0:03', '0:04', '0:04'];
    const labels = times.map((time) => `[Frame of a video at ${time}]`).join('');
    const heard = `[Transcript of the sound of a video]\n${tinyWhisperText}\n[End of transcript]`;
    const typed = await ask([{ type: 'text', text: `${labels}${heard}` }], { model: videoModel });
    const seen = await ask([video], { model: videoModel });
    // A frame has four positions and three marks; texts beside one are split into tokens on their own.
    const added = (seen.usage?.prompt_tokens ?? 0) - (typed.usage?.prompt_tokens ?? 0);
    expect(added).toBeGreaterThanOrEqual(8 * 7);
    expect(added).toBeLessThan(8 * 7 + 16);
    const again = await ask([video], { model: videoModel });
    expect(again.choices[0]?.message.content).toBe(seen.choices[0]?.message.content);
    expect(again.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(0);
    await platform.closedJobs();
    await expect.poll(artifacts, { timeout: 15_000 }).toEqual([]);
  });

  it('show other frames to the model than other videos', async () => {
    const white = await videoPart(
      ['-f', 'lavfi', '-i', 'color=c=white:size=96x64:duration=5', '-shortest'],
      'white.mp4',
    );
    const more = { model: silentModel, logprobs: true, top_logprobs: 5 };
    const [one, other] = [await ask([await videoPart()], more), await ask([white], more)];
    expect(one.usage?.prompt_tokens).toBe(other.usage?.prompt_tokens);
    expect(one.choices[0]?.logprobs?.content?.[0]?.top_logprobs).not.toEqual(
      other.choices[0]?.logprobs?.content?.[0]?.top_logprobs,
    );
  });

  const link = (url: string): Part => ({ type: 'video_url', video_url: { url } });
  it.each([
    ['wrong base64', [link('data:video/mp4;base64,%%%')], silentModel, '[0].video_url.url'],
    ['what is no video', [link('data:video/mp4;base64,aGVsbG8gd29ybGQ=')], silentModel, '[0].video_url.url'],
    ['no URL', [link('cat.mp4')], silentModel, '[0].video_url.url'],
    ['a private address', [link('http://127.0.0.1:1/cat.mp4')], silentModel, '[0].video_url.url'],
    ['a third video', Array.from({ length: 3 }, () => link('https://example.com/a.mp4')), silentModel, '[2]'],
    ['a model that sees images alone', [link('https://example.com/a.mp4')], model, '[0]'],
  ])('are refused for %s, which is not charged', async (_, content, asked, place) => {
    const jobs = (await platform.closedJobs()).length;
    const error = await ask(content, { model: asked }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 400, param: `messages[0].content${place}` });
    expect(await platform.closedJobs()).toHaveLength(jobs);
    await expect.poll(artifacts, { timeout: 15_000 }).toEqual([]);
  });
});
