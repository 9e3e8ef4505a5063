import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeImage } from '#media';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { installTinyImages } from '#test/tiny-images';
import { installTinyWhisper } from '#test/tiny-speech';
import { wavFile } from '#test/wav-file';

/* F19: small bodies that expand to large ones when decoded. */

const megabyte = 1_000_000;
const maxGrowth = 64 * megabyte;

/** A PNG with one bit per pixel and complete pixel data. */
function blackPng(width: number, height: number): Buffer {
  const chunk = (name: string, data: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(data.length);
    head.write(name, 4, 'latin1');
    // Decoding never gets as far as the checksum.
    return Buffer.concat([head, data, Buffer.alloc(4)]);
  };
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width);
  size.writeUInt32BE(height, 4);
  size.set([1, 0, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height));
  const magic = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([magic, chunk('IHDR', size), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}

/** A minimal animated GIF of two frames. */
function movingGif(): Buffer {
  const frame = Buffer.from('2c0000000001000100000202440100', 'hex');
  return Buffer.concat([Buffer.from('474946383961ffffffff800000ffffff000000', 'hex'), frame, frame, Buffer.from(';')]);
}

describe('F19: bombs', () => {
  let home: string;
  let platform: Platform;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    const manifests = [...(await installTinyImages(home)), await installTinyWhisper(home)];
    platform = await startPlatform({ engine: 'text', home, manifests });
    // Loads lazy modules first, which would count as growth.
    const pixels = { width: 256, height: 256, channels: 3 as const, data: new Uint8Array(256 * 256 * 3) };
    await (await image('image/upscale', await encodeImage(pixels, { format: 'png' }))).arrayBuffer();
    await (await audio(wavFile(new Float32Array(16_000).fill(0.1)))).text();
  });
  afterAll(async () => {
    await platform.closedJobs();
    await expectInvariant(platform);
    await platform.stop();
    await rm(home, { recursive: true, force: true });
  });

  const headers = () => ({ authorization: `Bearer ${platform.inferenceKey}` });

  async function image(path: string, bytes: Buffer): Promise<Response> {
    const body = new FormData();
    body.append('image', new Blob([new Uint8Array(bytes)]), 'image.png');
    if (path === 'image/edit') body.append('prompt', 'x');
    return await fetch(`${platform.baseUrl}/${path}`, { method: 'POST', headers: headers(), body });
  }

  async function audio(bytes: Buffer): Promise<Response> {
    const body = new FormData();
    body.append('file', new Blob([new Uint8Array(bytes)]), 'sound.wav');
    return await fetch(`${platform.baseUrl}/audio/transcriptions`, { method: 'POST', headers: headers(), body });
  }

  async function json(path: string, body: string | Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) {
    const all = { ...headers(), 'content-type': 'application/json', ...more };
    return await fetch(`${platform.baseUrl}/${path}`, { method: 'POST', headers: all, body });
  }

  async function memoryOfApi(field: 'VmRSS' | 'VmHWM'): Promise<number> {
    const status = await readFile(`/proc/${platform.pid('api')}/status`, 'utf8');
    const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status) ?? [];
    return Number(kilobytes) * 1_024;
  }

  /** Response to a request, and the memory growth of the API during it. */
  async function gauge(ask: () => Promise<Response>): Promise<{ status: number; code: string; grown: number }> {
    // Resets the peak memory to the current value.
    await writeFile(`/proc/${platform.pid('api')}/clear_refs`, '5');
    const before = await memoryOfApi('VmRSS');
    const response = await ask();
    const body = (await response.json()) as { code?: string; error?: { code?: string } | string };
    const code = body.code ?? (typeof body.error === 'object' ? body.error.code : undefined) ?? '';
    return { status: response.status, code, grown: (await memoryOfApi('VmHWM')) - before };
  }

  async function expectHarmless(ask: () => Promise<Response>, status: number, code: string): Promise<void> {
    const { grown, ...answer } = await gauge(ask);
    expect(answer).toEqual({ status, code });
    expect(grown).toBeLessThan(maxGrowth);
    expect(await platform.query("SELECT 1 FROM jobs WHERE state IN ('queued', 'running')")).toEqual([]);
  }

  it.each(['image/upscale', 'image/edit', 'image/background-remove'])(
    'of 50,000 × 50,000 pixels at %s',
    async (path) => {
      await expectHarmless(() => image(path, blackPng(50_000, 50_000)), 422, 'IMAGE_TOO_LARGE');
    },
  );

  it('of vector graphics and animated images', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="99999" height="99999"></svg>');
    for (const bytes of [svg, movingGif()]) {
      await expectHarmless(() => image('image/upscale', bytes), 400, 'CORRUPTED_IMAGE');
    }
  });

  it('of compressed bodies', async () => {
    const packed = new Uint8Array(gzipSync(Buffer.alloc(200 * megabyte, ' ')));
    const type = { 'content-encoding': 'gzip' };
    await expectHarmless(() => json('image/upscale', packed, type), 415, 'INVALID_CONTENT_TYPE');
  });

  it('of base64 beyond the body limit and beyond the image limit', async () => {
    const body = (bytes: number) => JSON.stringify({ image: 'A'.repeat(bytes) });
    await expectHarmless(() => json('image/upscale', body(60 * megabyte)), 413, 'PAYLOAD_TOO_LARGE');
  });
});
