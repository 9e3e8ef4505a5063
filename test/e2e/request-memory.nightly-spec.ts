import { describe, expect, it } from 'vitest';
import { decodeImage, encodeImage } from '#media';
import { ServedPlatform } from '#test/served-platform';
import { installTinyTextToVideo } from '#test/tiny-generators';
import { installTinyImages } from '#test/tiny-images';
import { installTinyInterpolator } from '#test/tiny-video';

/* Requests at the largest size that the memory of a small worker allows, and just above it. */

const served = new ServedPlatform({
  install: async (home) => [
    ...(await installTinyImages(home)).filter(({ id }) =>
      ['tiny-painter', 'tiny-redrawer', 'tiny-repair'].includes(id),
    ),
    await installTinyTextToVideo(home, { durations: ['1s', '30s'] }),
    await installTinyInterpolator(home, {
      manifest: {
        constraints: {
          model_type: 'image-to-video',
          aspect_ratios: [],
          resolutions: ['256p', '4k'],
          durations: ['1s'],
          audio: true,
          audio_configurable: true,
        },
      },
    }),
  ],
  env: { SLUICE_MEMORY_BUDGET: 'cpu=1GiB' },
});
const post = served.post.bind(served);

/** Largest number of pixels as clients see it, once the worker knows its memory. */
async function maxPixels(model: string): Promise<number> {
  const read = async (): Promise<number | undefined> => {
    const response = await fetch(`${served.platform.baseUrl}/models/${model}`);
    return ((await response.json()) as { model_spec: { maxPixels?: number } }).model_spec.maxPixels;
  };
  await expect.poll(read).toBeDefined();
  return (await read()) ?? Number.NaN;
}

async function expectRefused(response: Response, param: string): Promise<string> {
  const body = (await response.json()) as { error: { message?: string } | string; details?: object };
  const message = typeof body.error === 'string' ? body.error : (body.error.message ?? '');
  expect([response.status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(param)]);
  expect(message).toMatch(/with the memory of this installation/);
  return message;
}

async function png(width: number, height: number, value = 90): Promise<string> {
  const data = new Uint8Array(width * height * 3).fill(value);
  const bytes = await encodeImage({ width, height, channels: 3, data }, { format: 'png' });
  return `data:image/png;base64,${bytes.toString('base64')}`;
}

describe('a size beyond the memory of the worker', () => {
  it('is refused for images from words (stable-diffusion), and the size that the refusal names is drawn', async () => {
    const model = 'tiny-painter';
    const side = Math.ceil(Math.sqrt((await maxPixels(model)) + 1) / 4) * 4;
    const paint = { model, prompt: 'a red bird', steps: 1, safe_mode: false, format: 'png', return_binary: true };
    const message = await expectRefused(
      await post('/image/generate', { ...paint, width: side, height: side }),
      'width',
    );
    const [, width, height] = /up to (\d+) × (\d+)/.exec(message) ?? [];
    const largest = { width: Number(width), height: Number(height) };
    expect(largest.width).toBeGreaterThan(32);
    const drawn = await post('/image/generate', { ...paint, ...largest });
    const bytes = Buffer.from(await drawn.arrayBuffer());
    expect(drawn.status, bytes.toString('latin1', 0, 300)).toBe(200);
    expect(await decodeImage(bytes, { channels: 3 })).toMatchObject(largest);
  });

  it('is refused for redrawn images', async () => {
    await maxPixels('tiny-redrawer');
    const edit = { model: 'tiny-redrawer', prompt: 'a red bird', image: await png(1_024, 1_024), safe_mode: false };
    await expectRefused(await post('/image/edit', edit), 'image');
  });

  it('is refused for repaired images (migan), and the size that the refusal names is repaired', async () => {
    const model = 'tiny-repair';
    const side = Math.ceil(Math.sqrt(await maxPixels(model))) + 1;
    const edit = async (pixels: number): Promise<object> => ({
      model,
      prompt: 'x',
      images: [await png(pixels, pixels), await png(pixels, pixels, 255)],
      safe_mode: false,
    });
    const message = await expectRefused(await post('/image/multi-edit', await edit(side)), 'image');
    expect(message).toContain(`up to ${side - 2}`);
    expect((await post('/image/multi-edit', await edit(side - 2))).status).toBe(200);
  });

  it('is refused for frames between images (rife), and a smaller resolution is accepted', async () => {
    await maxPixels('tiny-rife');
    const image_url = await png(96, 64);
    const body = { model: 'tiny-rife', duration: '1s', image_url, end_image_url: image_url };
    await expectRefused(await post('/video/queue', { ...body, resolution: '4k' }), 'resolution');
    expect((await post('/video/queue', { ...body, resolution: '256p' })).status).toBe(200);
  });

  it('is refused for videos from words (text-to-video-sd), with the largest number of frames', async () => {
    await maxPixels('tiny-text-to-video');
    const body = { model: 'tiny-text-to-video', prompt: 'a river', aspect_ratio: '1:1' };
    const message = await expectRefused(await post('/video/queue', { ...body, duration: '30s' }), 'duration');
    expect(Number(/makes up to (\d+)/.exec(message)?.[1])).toBeGreaterThanOrEqual(8);
    expect((await post('/video/queue', { ...body, duration: '1s' })).status).toBe(200);
  });
});
