import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeImage, encodeImage, type Pixels } from '#media';
import { itInFull, type Transport, transportsFor } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyImages } from '#test/tiny-images';

/* Images through the real processes, on models with predictable outputs. */

let platform: Platform;
let client: OpenAI;
let home: string;

function open(transport: Transport): void {
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    const manifests = await installTinyImages(home);
    platform = await startPlatform({ engine: 'text', home, manifests, transport });
    client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  });
  afterAll(async () => {
    try {
      await stopConsistently(platform);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
}

/** An image of one color. */
function plain(width: number, height: number, colour: [number, number, number, number]): Pixels {
  const data = Uint8Array.from({ length: width * height * 4 }, (_, index) => colour[index % 4] ?? 0);
  return { width, height, channels: 4, data };
}

/** 300 by 240: columns of different gray, so that positions can be told apart. */
const columns: Pixels = {
  width: 300,
  height: 240,
  channels: 4,
  data: Uint8Array.from({ length: 300 * 240 * 4 }, (_, index) =>
    index % 4 === 3 ? 255 : Math.floor((Math.floor(index / 4) % 300) / 2),
  ),
};

const png = (pixels: Pixels) => encodeImage(pixels, { format: 'png' });
const read = async (response: Response) =>
  await decodeImage(Buffer.from(await response.arrayBuffer()), { channels: 4, maxPixels: 50_000_000 });

async function post(path: string, body: FormData | object, headers: Record<string, string> = {}, signal?: AbortSignal) {
  const isForm = body instanceof FormData;
  return await fetch(`${platform.baseUrl}/${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${platform.inferenceKey}`,
      ...(isForm ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: isForm ? body : JSON.stringify(body),
    signal,
  });
}

async function form(fields: Record<string, string | Buffer | (string | Buffer)[]>): Promise<FormData> {
  const data = new FormData();
  for (const [name, given] of Object.entries(fields)) {
    for (const value of Array.isArray(given) ? given : [given]) {
      if (typeof value === 'string') data.append(name, value);
      else data.append(name, new Blob([Uint8Array.from(value)]), 'image.png');
    }
  }
  return data;
}

async function lastJob() {
  await platform.closedJobs();
  const [row] = await platform.query<{ state: string; error_code: string | null; charged_nano: string | null }>(
    `SELECT jobs.state, jobs.error_code, holds.charged_nano FROM jobs
     LEFT JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at DESC LIMIT 1`,
  );
  return row;
}

/** Headers of checks that did not run. */
const unchecked = ['is-blurred', 'is-content-violation', 'is-adult-model-content-violation', 'contains-minor'].map(
  (name) => `x-service-${name}`,
);

const paint = { model: 'tiny-painter', prompt: 'a red bird', width: 16, height: 16, safe_mode: false };
/** Long enough to be interrupted: a few seconds. */
const longGeneration = { ...paint, width: 64, height: 64, steps: 40 };

async function running(): Promise<void> {
  for (let look = 0; look < 400; look++) {
    if ((await platform.query("SELECT 1 FROM jobs WHERE state = 'running'")).length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('the job did not start');
}

describe.each(transportsFor('postgres'))('images over %s', (transport) => {
  open(transport);

  it('are upscaled two and four times, from a form, base64 and a data URL', async () => {
    const bytes = await png(columns);
    const fromForm = await post('image/upscale', await form({ image: bytes }));
    expect(fromForm.status).toBe(200);
    expect(fromForm.headers.get('content-type')).toBe('image/png');
    expect(fromForm.headers.get('x-service-model-id')).toBe('tiny-upscaler');
    for (const name of unchecked) expect(fromForm.headers.get(name), name).toBeNull();
    const large = await read(fromForm);
    expect([large.width, large.height]).toEqual([600, 480]);
    expect(large.data[4 * 599]).toBe(columns.data[4 * 299]);
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: '10000000' });

    const base64 = bytes.toString('base64').replaceAll(/(.{76})/g, '$1\n');
    const fourfold = await post('image/upscale', { image: `data:image/png;base64,${base64}`, scale: 4 });
    expect(await read(fourfold)).toMatchObject({ width: 1200, height: 960 });
    expect(await lastJob()).toMatchObject({ charged_nano: '20000000' });
    expect((await post('image/upscale', { image: base64 })).status).toBe(200);
  });

  it('have their background removed, by a network of the manifest or a known one', async () => {
    const removed = async () => post('image/background-remove', await form({ image: await png(columns) }));
    const alphaOf = async (response: Response) => {
      const cutOut = await read(response);
      expect([cutOut.width, cutOut.height]).toEqual([300, 240]);
      return (column: number) => cutOut.data[(120 * 300 + column) * 4 + 3] ?? -1;
    };
    const response = await removed();
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('x-service-model-id')).toBe('tiny-cutout');
    for (const name of unchecked) expect(response.headers.get(name), name).toBeNull();
    const ofLogits = await alphaOf(response);
    expect(ofLogits(10)).toBeLessThan(5);
    expect(Math.abs(ofLogits(290) - 191)).toBeLessThan(8);
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: '20000000' });

    await platform.query("UPDATE models SET disabled = true WHERE id = 'tiny-cutout'");
    let other = await removed();
    while (other.headers.get('x-service-model-id') === 'tiny-cutout') other = await removed();
    const alphaAt = await alphaOf(other);
    expect(alphaAt(10)).toBeLessThan(20);
    expect(Math.abs(alphaAt(290) - 145)).toBeLessThan(6);
    await platform.query("UPDATE models SET disabled = false WHERE id = 'tiny-cutout'");
  });

  it('are inpainted where a mask says so, and cost more with a mask', async () => {
    const mask = plain(300, 240, [0, 0, 0, 255]);
    for (let row = 0; row < 100; row++) mask.data.fill(255, row * 1_200, row * 1_200 + 400);
    const options = { prompt: 'repair', images: [await png(columns), await png(mask)], output_format: 'webp' };
    const response = await post('image/multi-edit', await form(options));
    expect(response.headers.get('content-type')).toBe('image/webp');
    expect(response.headers.get('x-service-is-blurred')).toBe('false');
    expect(response.headers.get('x-service-control-instance')).toMatch(/./);
    const repaired = await read(response);
    expect(Math.abs((repaired.data[(10 * 300 + 10) * 4] ?? 0) - 128)).toBeLessThan(6);
    expect(Math.abs((repaired.data[(200 * 300 + 250) * 4] ?? 0) - 125)).toBeLessThan(6);
    expect(await lastJob()).toMatchObject({ charged_nano: '11000000' });
  });

  it('are generated from text, the same for the same seed, with a new seed for each variant', async () => {
    const ask = async (body: object) =>
      (await (await post('image/generate', { ...paint, format: 'png', ...body })).json()) as {
        id: string;
        images: string[];
        request: { seed: number; width: number };
        timing: Record<string, number>;
      };
    const { images, timing } = await ask({ seed: 7, variants: 3 });
    expect(images).toHaveLength(3);
    expect(new Set(images).size).toBe(3);
    expect(timing.total).toBeGreaterThanOrEqual(timing.inferenceDuration ?? Infinity);
    expect(await lastJob()).toMatchObject({ charged_nano: '30000000' });
    expect((await ask({ seed: 8 })).images).toEqual([images[1]]);
    const random = await ask({});
    expect(random.request).toMatchObject({ model: 'tiny-painter', width: 16, height: 16, steps: 2, variants: 1 });
    expect((await ask({ seed: random.request.seed })).images).toEqual(random.images);
    const bytes = await post('image/generate', { ...paint, format: 'png', seed: 9, return_binary: true });
    expect(bytes.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await bytes.arrayBuffer()).toString('base64')).toBe(images[2]);
  });

  it('reach the official client', async () => {
    const options = { prompt: 'a red bird', model: 'gpt-image-1', size: '256x256' } as const;
    const { data } = await client.images.generate(options);
    const bytes = Buffer.from(data?.[0]?.b64_json ?? '', 'base64');
    // 8 by 8 latents: the fixture declares a scale of 32, and decodes to twice their size.
    expect(await decodeImage(bytes, { channels: 3 })).toMatchObject({ width: 16, height: 16 });
    const asUrl = await client.images.generate({ ...options, response_format: 'url' });
    expect(asUrl.data?.[0]?.url).toMatch(/^data:image\/png;base64,/);
  });

  itInFull(
    'are generated again when the model’s host dies midway',
    async () => {
      const answer = post('image/generate', longGeneration);
      await running();
      process.kill(platform.hostPid('tiny-painter'), 'SIGKILL');
      expect((await answer).status).toBe(200);
      expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: '10000000' });
      await platform.untilOnline();
    },
    120_000,
  );

  it('cost nothing when their client disconnects before the first one', async () => {
    const abort = new AbortController();
    const ended = post('image/generate', longGeneration, {}, abort.signal).then(
      () => 'answered',
      () => 'left',
    );
    await running();
    abort.abort();
    expect(await ended).toBe('left');
    expect(await lastJob()).toMatchObject({ state: 'cancelled', charged_nano: '0' });
  });

  if (transport === 'postgres') describeOnce();
});

/** Tests that do not depend on the queue, on the running platform. */
function describeOnce(): void {
  // Global attention takes a second or two even on the smallest image that can be edited.
  itInFull('are generated from an image and text, at about the size of the image', async () => {
    const options = { model: 'tiny-redrawer', prompt: 'a red bird', image: await png(columns) };
    const response = await post('image/edit', await form(options));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(response.headers.get('x-service-model-id')).toBe('tiny-redrawer');
    const drawn = await read(response);
    // Multiples of 64, as such models require.
    expect([drawn.width, drawn.height]).toEqual([256, 192]);
    expect(drawn.data).not.toEqual(columns.data);
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: '10000000' });
  });

  it('are blurred in safe mode when classified as adult', async () => {
    const red = plain(256, 256, [255, 0, 0, 255]);
    for (let row = 0; row < 256; row += 2) red.data.fill(255, row * 1_024, row * 1_024 + 16);
    red.data.fill(0, 3, 4);
    const options = { prompt: 'repair', images: [await png({ ...red, data: red.data })] };
    const safe = await post('image/multi-edit', await form(options));
    expect(safe.headers.get('x-service-is-blurred')).toBe('true');
    const unsafe = await post('image/multi-edit', await form({ ...options, safe_mode: 'false' }));
    expect(unsafe.headers.get('x-service-is-blurred')).toBeNull();
  });

  it('are replayed byte for byte and charged once', async () => {
    const headers = { 'idempotency-key': 'image-1' };
    const body = { ...paint, return_binary: true };
    const jobs = async () => await platform.query("SELECT 1 FROM jobs WHERE model_id = 'tiny-painter'");
    const before = (await jobs()).length;
    const first = Buffer.from(await (await post('image/generate', body, headers)).arrayBuffer());
    await platform.closedJobs();
    const again = await post('image/generate', body, headers);
    expect(Buffer.from(await again.arrayBuffer()).equals(first)).toBe(true);
    expect(again.headers.get('content-type')).toBe('image/webp');
    expect((await jobs()).length).toBe(before + 1);
  });

  it('have a public list of styles', async () => {
    const response = await fetch(`${platform.baseUrl}/image/styles`);
    const { object, data } = (await response.json()) as { object: string; data: string[] };
    expect(object).toBe('list');
    expect(data.length).toBeGreaterThanOrEqual(40);
  });

  it('and their models are listed, but not the safety classifier', async () => {
    const response = await fetch(`${platform.baseUrl}/models?type=all`);
    const { data } = (await response.json()) as { data: { id: string; type: string }[] };
    expect(data.map(({ id }) => id)).toContain('tiny-painter');
    expect(data.map(({ id }) => id)).not.toContain('nsfw-mobilenet');
    expect((await post('image/generate', { ...paint, model: 'nsfw-mobilenet' })).status).toBe(404);
  });

  it.each<[string, () => Promise<FormData> | object]>([
    ['a file', () => form({ image: Buffer.alloc(0) })],
    ['base64', () => ({ image: '' })],
    ['a data URL', () => ({ image: 'data:image/png;base64,' })],
  ])('that are empty are reported as damaged: %s', async (_, body) => {
    const response = await post('image/upscale', await body());
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'CORRUPTED_IMAGE' });
  });

  const tiny = () => png(plain(20, 20, [1, 2, 3, 255]));

  it.each([
    ['an empty file', 'image/upscale', () => form({ image: Buffer.alloc(0) }), 400],
    ['no image', 'image/upscale', async () => form({ image: Buffer.from('hello, this is text') }), 400],
    ['a truncated image', 'image/upscale', async () => form({ image: (await png(columns)).subarray(0, 300) }), 400],
    ['an image that is too small', 'image/upscale', async () => form({ image: await tiny() }), 400],
    ['a factor of three', 'image/upscale', async () => form({ image: await png(columns), scale: '3' }), 400],
    ['a URL where none is accepted', 'image/upscale', async () => ({ image: 'http://127.0.0.1/x.png' }), 400],
    ['a private address', 'image/background-remove', async () => ({ image_url: 'http://127.0.0.1:1/x.png' }), 400],
    ['a model', 'image/background-remove', async () => form({ image: await png(columns), model: 'tiny-matte' }), 400],
    ['neither image nor URL', 'image/background-remove', async () => ({}), 400],
    ['nothing to repair', 'image/edit', async () => form({ prompt: 'x', image: await png(columns) }), 400],
    [
      'a background removal model',
      'image/edit',
      async () => form({ prompt: 'x', model: 'tiny-matte', image: await png(columns) }),
      400,
    ],
    [
      'too many images',
      'image/multi-edit',
      async () => form({ prompt: 'x', images: [await tiny(), await tiny(), await tiny()] }),
      400,
    ],
    [
      'a text among the files of a form',
      'image/multi-edit',
      async () => form({ prompt: 'x', images: [await png(columns), (await png(columns)).toString('base64')] }),
      400,
    ],
    [
      'an unsupported aspect ratio',
      'image/edit',
      async () => form({ prompt: 'x', model: 'tiny-redrawer', image: await png(columns), aspect_ratio: '16:9' }),
      400,
    ],
    [
      'a size that is no tier',
      'image/edit',
      async () => form({ prompt: 'x', model: 'tiny-redrawer', image: await png(columns), resolution: '4K' }),
      400,
    ],
    ['a prompt one over the limit', 'image/generate', async () => ({ ...paint, prompt: 'x'.repeat(101) }), 400],
    ['a width that is not divisible', 'image/generate', async () => ({ ...paint, width: 17 }), 400],
    ['an unknown style', 'image/generate', async () => ({ ...paint, style_preset: 'crayon' }), 400],
    ['an unknown model', 'image/generate', async () => ({ ...paint, model: 'nobody' }), 404],
    ['OpenAI’s route with safe_mode', 'images/generations', async () => ({ prompt: 'x', safe_mode: true }), 400],
  ])('are rejected before there is a job: %s', async (_, path, body, status) => {
    const before = await platform.query('SELECT 1 FROM jobs');
    const response = await post(path, await body());
    expect(response.status).toBe(status);
    const answer = (await response.json()) as { error: unknown; code?: string };
    expect(answer.error).toBeTruthy();
    // Only requests whose pixels must be decoded become jobs, and these cost nothing.
    const after = await platform.query('SELECT 1 FROM jobs');
    const job = after.length > before.length ? await lastJob() : undefined;
    expect(Number(job?.charged_nano ?? 0)).toBe(0);
  });
}
