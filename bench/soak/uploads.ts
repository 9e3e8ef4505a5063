import { randomBytes } from 'node:crypto';
import { mebibyte } from '#common/values';
import { encodeImage } from '#media';
import type { Platform } from '#test/platform';
import { toneWav } from '#test/tone-recording';

/** Sends one kind of large request; rejects when its response is not the expected one. */
export type Upload = (platform: Platform) => Promise<void>;

async function post(
  platform: Platform,
  { path, body, status = 200 }: { path: string; body: FormData | string; status?: number },
): Promise<void> {
  const response = await fetch(`${platform.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${platform.inferenceKey}`,
      ...(typeof body === 'string' && { 'content-type': 'application/json' }),
    },
    body,
  }).catch((error: unknown) => {
    throw new Error(`${path}: no response`, { cause: error });
  });
  const answer = Buffer.from(await response.arrayBuffer());
  if (response.status !== status) {
    throw new Error(`${path}: ${response.status} instead of ${status}: ${answer.toString('utf8', 0, 500)}`);
  }
}

function form(file: { field: string; bytes: Buffer; name: string }): FormData {
  const body = new FormData();
  body.append(file.field, new Blob([new Uint8Array(file.bytes)]), file.name);
  return body;
}

/** Noise does not compress: the file is as large as its pixels. */
async function noise(width: number, height: number): Promise<Buffer> {
  const data = Uint8Array.from(randomBytes(width * height * 3));
  return await encodeImage({ width, height, channels: 3, data }, { format: 'png' });
}

/** Requests near the limits of their routes: files, base64 in JSON, and bodies that are refused. */
export async function largeUploads(): Promise<Upload[]> {
  const recording = toneWav(230, { rate: 48_000 });
  const image = await noise(2_000, 1_500);
  const text = 'x'.repeat(30 * mebibyte);
  const chat = JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content: text }] });
  const inJson = JSON.stringify({ model: 'tiny-upscaler', image: image.toString('base64'), scale: 2 });
  return [
    (platform) => {
      const body = form({ field: 'file', bytes: recording, name: 'a.wav' });
      return post(platform, { path: '/audio/transcriptions', body });
    },
    (platform) => {
      const body = form({ field: 'image', bytes: image, name: 'a.png' });
      return post(platform, { path: '/image/background-remove', body });
    },
    (platform) => post(platform, { path: '/image/upscale', body: inJson }),
    (platform) => post(platform, { path: '/chat/completions', body: chat, status: 400 }),
  ];
}
