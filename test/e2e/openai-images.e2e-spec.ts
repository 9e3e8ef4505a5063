import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeImage, encodeImage, type Pixels } from '#media';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyImages } from '#test/tiny-images';

/*
 * OpenAI's image routes through its official client, and a model of one size whose images are upscaled. The upscaler
 * repeats pixels, so that every result can be traced to the image that was drawn.
 */

let platform: Platform;
let client: OpenAI;
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  // The default model edits as well.
  const manifests = (await installTinyImages(home)).map((manifest) =>
    manifest.id === 'tiny-drawer' ? { ...manifest, traits: { default: 2 } } : manifest,
  );
  platform = await startPlatform({ engine: 'text', home, manifests, transport: 'postgres' });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

async function post(path: string, body: object) {
  return await fetch(`${platform.baseUrl}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function lastJob() {
  await platform.closedJobs();
  const [row] = await platform.query<{ state: string; charged_nano: string | null }>(
    `SELECT jobs.state, holds.charged_nano FROM jobs
     LEFT JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at DESC LIMIT 1`,
  );
  return row;
}

/** An image whose pixels tell their position apart. */
function gradient(width: number, height: number): Pixels {
  const data = Uint8Array.from({ length: width * height * 4 }, (_, index) => {
    const pixel = Math.floor(index / 4);
    return [pixel % width, Math.floor(pixel / width), 90, 255][index % 4] ?? 0;
  });
  return { width, height, channels: 4, data };
}

/** Transparent on the right half. */
function rightMask(width: number, height: number): Pixels {
  const mask = gradient(width, height);
  for (let pixel = 0; pixel < width * height; pixel++) if (pixel % width >= width / 2) mask.data[pixel * 4 + 3] = 0;
  return mask;
}

const fileOf = async (pixels: Pixels, name: string) => await toFile(await encodeImage(pixels, { format: 'png' }), name);
const read = async (base64: string | undefined) =>
  await decodeImage(Buffer.from(base64 ?? '', 'base64'), { channels: 3, maxPixels: 50_000_000 });

/** True if every square of `scale` by `scale` pixels has one color. */
function isRepeated({ width, height, data }: Pixels, scale: number): boolean {
  const at = (x: number, y: number, channel: number) => data[(y * width + x) * 3 + channel];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let channel = 0; channel < 3; channel++) {
        if (at(x, y, channel) !== at(x - (x % scale), y - (y % scale), channel)) return false;
      }
    }
  }
  return true;
}

const words = { model: 'tiny-drawer', prompt: 'a red bird', safe_mode: false, format: 'png' };

describe('a model of one size', () => {
  const generate = async (body: object) => {
    const response = await post('image/generate', { ...words, ...body });
    const json = (await response.json()) as { images: string[]; request: Record<string, number> };
    return { status: response.status, json };
  };

  it('draws its size and has it upscaled, which each image is charged for', async () => {
    const { json } = await generate({ seed: 7, variants: 3 });
    const images = await Promise.all(json.images.map(read));
    for (const image of images) {
      expect([image.width, image.height]).toEqual([256, 256]);
      expect(isRepeated(image, 4)).toBe(true);
    }
    expect(isRepeated(images[0] as Pixels, 8)).toBe(false);
    // Three images at 0.01, upscaled by four at 0.02.
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: '90000000' });
  });

  it('draws the same image for a seed, alone and in any batch', async () => {
    const { json } = await generate({ seed: 7, variants: 3 });
    for (const [index, image] of json.images.entries()) {
      expect((await generate({ seed: 7 + index })).json.images).toEqual([image]);
    }
  });

  it('makes its own size without an upscaler’s price, and sizes between by shrinking', async () => {
    const native = await read((await generate({ resolution: '64' })).json.images[0]);
    expect([native.width, native.height]).toEqual([64, 64]);
    expect(await lastJob()).toMatchObject({ charged_nano: '10000000' });
    const between = await read((await generate({ width: 100, height: 100 })).json.images[0]);
    expect([between.width, between.height]).toEqual([100, 100]);
    expect(await lastJob()).toMatchObject({ charged_nano: '20000000' });
  });

  it.each([
    ['width', { width: 258, height: 258 }, /up to 256 pixels/],
    ['width', { width: 128, height: 64 }, /shapes 1:1 only/],
    ['aspect_ratio', { aspect_ratio: '16:9' }, /1:1/],
    ['resolution', { resolution: '1K' }, /64, 256/],
    ['style_preset', { style_preset: 'Watercolor' }, /Line Art/],
  ])('refuses what it cannot draw: %s', async (param, body, message) => {
    const { status, json } = await generate(body);
    expect(status).toBe(400);
    expect(JSON.stringify(json)).toMatch(message);
    expect(JSON.stringify(json)).toContain(param);
  });

  it('follows a style that it knows', async () => {
    const styled = await generate({ seed: 3, style_preset: 'line art' });
    expect(styled.status).toBe(200);
    const written = await generate({ seed: 3, prompt: `${words.prompt}, thin lines` });
    expect(styled.json.images).toEqual(written.json.images);
  });

  it('is listed with its size and its styles', async () => {
    const response = await fetch(`${platform.baseUrl}/models?type=image`);
    const { data } = (await response.json()) as { data: { id: string; model_spec: object }[] };
    expect(data.find(({ id }) => id === 'tiny-drawer')?.model_spec).toMatchObject({
      upscaling: { nativeSide: 64, model: 'tiny-upscaler' },
      stylePresets: { 'Line Art': 'thin lines' },
      constraints: { aspectRatios: ['1:1'], resolutions: ['64', '256'] },
    });
  });
});

describe('the official client', () => {
  it('generates several images', async () => {
    const options = { model: 'tiny-drawer', prompt: 'a red bird', n: 2 } as const;
    const { data } = await client.images.generate({ ...options, size: 'auto' });
    expect(data).toHaveLength(2);
    expect(data?.[0]?.b64_json).not.toBe(data?.[1]?.b64_json);
    expect(await read(data?.[0]?.b64_json)).toMatchObject({ width: 256, height: 256 });
    expect(await lastJob()).toMatchObject({ charged_nano: '60000000' });
    const asUrl = await client.images.generate({ ...options, size: '256x256', response_format: 'url' });
    expect(asUrl.data?.[1]?.url).toMatch(/^data:image\/png;base64,/);
  });

  it('streams each generated image as an event', async () => {
    const options = { model: 'tiny-drawer', prompt: 'a red bird', n: 2, stream: true } as const;
    const stream = await client.images.generate({ ...options, partial_images: 2, output_format: 'webp' });
    const events: OpenAI.ImageGenStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toMatchObject(
      Array.from({ length: 2 }, () => ({
        type: 'image_generation.completed',
        size: '256x256',
        output_format: 'webp',
        usage: { total_tokens: 0 },
      })),
    );
    expect(events[0]?.b64_json).not.toBe(events[1]?.b64_json);
    expect(await read(events[1]?.b64_json)).toMatchObject({ width: 256, height: 256 });
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: '60000000' });
  });

  it('streams an edited image as an event, of a form and of JSON', async () => {
    const options = { model: 'tiny-drawer', prompt: 'a red bird' };
    const file = await fileOf(gradient(128, 128), 'image.png');
    const stream = await client.images.edit({ ...options, image: file, stream: true });
    const events: OpenAI.ImageEditStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toMatchObject([{ type: 'image_edit.completed', size: '128x128', output_format: 'png' }]);
    const image = (await encodeImage(gradient(128, 128), { format: 'png' })).toString('base64');
    const response = await post('images/edits', { ...options, image, stream: true });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(await response.text()).toMatch(/^event: image_edit\.completed\ndata: \{.*\}\n\ndata: \[DONE\]\n\n$/);
  });

  it('gets the status of a request that fails before its stream begins', async () => {
    const options = { prompt: 'x'.repeat(101), model: 'tiny-drawer', stream: true } as const;
    await expect(client.images.generate(options)).rejects.toMatchObject({ status: 400, param: 'prompt' });
  });

  it('edits the masked part of an image; all other pixels stay identical', async () => {
    const original = gradient(200, 120);
    const { data } = await client.images.edit({
      model: 'tiny-drawer',
      image: await fileOf(original, 'image.png'),
      mask: await fileOf(rightMask(200, 120), 'mask.png'),
      prompt: 'a red bird',
      n: 2,
    });
    expect(data).toHaveLength(2);
    const [first, second] = await Promise.all((data ?? []).map(({ b64_json: base64 }) => read(base64)));
    for (const image of [first, second]) {
      expect([image?.width, image?.height]).toEqual([200, 120]);
      let changed = 0;
      for (let pixel = 0; pixel < 200 * 120; pixel++) {
        const isSame = [0, 1].every((c) => image?.data[pixel * 3 + c] === original.data[pixel * 4 + c]);
        if (pixel % 200 < 100) expect(isSame, `pixel ${pixel}`).toBe(true);
        else if (!isSame) changed++;
      }
      expect(changed).toBeGreaterThan(5_000);
    }
    expect(first?.data).not.toEqual(second?.data);
    // Two images at 0.01, upscaled by four at 0.02.
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: '60000000' });
  });

  it('edits a whole image at the size it asks for', async () => {
    const image = await fileOf(gradient(128, 128), 'image.png');
    const options = { model: 'tiny-drawer', image, prompt: 'a red bird', size: '256x256' } as const;
    const { data } = await client.images.edit({ ...options, response_format: 'url' });
    const url = data?.[0]?.url ?? '';
    expect(await read(url.slice(url.indexOf(',') + 1))).toMatchObject({ width: 256, height: 256 });
  });

  it('fills the masked part with a model that ignores the prompt', async () => {
    const image = await fileOf(gradient(200, 120), 'image.png');
    const mask = await fileOf(rightMask(200, 120), 'mask.png');
    // An unknown model is the default one of its type.
    const { data } = await client.images.edit({ model: 'dall-e-2', image, mask, prompt: 'repair' });
    const repaired = await read(data?.[0]?.b64_json);
    expect(Math.abs((repaired.data[(60 * 200 + 150) * 3] ?? 0) - 128)).toBeLessThan(6);
  });

  it('edits an opaque image without a mask by words, and fills a transparent one', async () => {
    const opaque = await fileOf(gradient(128, 128), 'image.png');
    // Unknown names select the default model for what was sent.
    const options = { model: 'gpt-image-1', prompt: 'a blue apple', size: '256x256' } as const;
    const { data } = await client.images.edit({ ...options, image: opaque });
    expect(await read(data?.[0]?.b64_json)).toMatchObject({ width: 256, height: 256 });
    const clear = await fileOf(rightMask(256, 256), 'image.png');
    const filled = await client.images.edit({ ...options, image: clear });
    const repaired = await read(filled.data?.[0]?.b64_json);
    expect(Math.abs((repaired.data[(128 * 256 + 200) * 3] ?? 0) - 128)).toBeLessThan(6);
  });

  it('edits an image of a JSON body', async () => {
    const url = async (pixels: Pixels) =>
      `data:image/png;base64,${(await encodeImage(pixels, { format: 'png' })).toString('base64')}`;
    const response = await post('images/edits', {
      prompt: 'repair',
      images: [{ image_url: await url(gradient(200, 120)) }],
      mask: { image_url: await url(rightMask(200, 120)) },
      size: '200x120',
    });
    const { data } = (await response.json()) as OpenAI.ImagesResponse;
    expect(response.status).toBe(200);
    const repaired = await read(data?.[0]?.b64_json);
    expect(Math.abs((repaired.data[(60 * 200 + 150) * 3] ?? 0) - 128)).toBeLessThan(6);
  });

  it('is told that a model edits one image', async () => {
    const images = await Promise.all(['a', 'b', 'c'].map((name) => fileOf(gradient(128, 128), `${name}.png`)));
    const mask = await fileOf(rightMask(128, 128), 'mask.png');
    for (const more of [{}, { mask }]) {
      const edit = client.images.edit({ model: 'tiny-drawer', image: images, prompt: 'x', ...more });
      await expect(edit).rejects.toMatchObject({ status: 400, param: 'image', message: /edits one image/ });
    }
  });

  it('makes variations of an image', async () => {
    const image = await fileOf(gradient(128, 128), 'image.png');
    const { data } = await client.images.createVariation({ model: 'tiny-drawer', image, n: 3 });
    expect(data).toHaveLength(3);
    expect(new Set(data?.map(({ b64_json: base64 }) => base64)).size).toBe(3);
    expect(await read(data?.[0]?.b64_json)).toMatchObject({ width: 128, height: 128 });
  });

  it.each<[string, string, object]>([
    ['response_format', 'images/edits', { prompt: 'x', stream: true, response_format: 'url' }],
    ['response_format', 'images/generations', { prompt: 'x', stream: true, response_format: 'url' }],
    ['partial_images', 'images/generations', { prompt: 'x', stream: true, partial_images: 4 }],
    ['partial_images', 'images/edits', { prompt: 'x', stream: true, partial_images: -1 }],
    ['size', 'images/edits', { prompt: 'x', size: '1024x1024' }],
    ['size', 'images/edits', { prompt: 'x', model: 'tiny-repair', size: '512x512' }],
    ['n', 'images/edits', { prompt: 'x', model: 'tiny-repair', n: 2 }],
    ['prompt', 'images/edits', {}],
    ['prompt', 'images/edits', { prompt: ' ' }],
    ['prompt', 'images/generations', { prompt: ' ' }],
    ['prompt', 'image/generate', { prompt: '\n' }],
    ['prompt', 'image/edit', { prompt: '\t ' }],
    ['prompt', 'image/multi-edit', { prompt: ' ', images: ['aGVsbG8='] }],
    ['prompt', 'images/edits', { prompt: 'x'.repeat(101) }],
    ['mask', 'images/edits', { prompt: 'x', mask: 'aGVsbG8=' }],
    ['model', 'images/variations', { model: 'tiny-repair' }],
    ['n', 'images/variations', { n: 5 }],
    ['strength', 'image/edit', { prompt: 'x', model: 'tiny-repair', strength: 0.5 }],
  ])('is told which field a model cannot serve: %s of %s', async (param, path, body) => {
    const before = await platform.query('SELECT 1 FROM jobs');
    const png = (await encodeImage(gradient(256, 256), { format: 'png' })).toString('base64');
    const response = await post(path, { model: 'tiny-drawer', image: png, ...body });
    expect(response.status).toBe(400);
    expect(JSON.stringify(await response.json())).toContain(param);
    expect((await platform.query('SELECT 1 FROM jobs')).length).toBe(before.length);
  });

  it('is told that a mask selects nothing, at no charge', async () => {
    const image = await fileOf(gradient(128, 128), 'image.png');
    const edit = client.images.edit({ model: 'tiny-drawer', image, mask: image, prompt: 'x' });
    await expect(edit).rejects.toMatchObject({ status: 400 });
    expect(Number((await lastJob())?.charged_nano ?? 0)).toBe(0);
  });
});
