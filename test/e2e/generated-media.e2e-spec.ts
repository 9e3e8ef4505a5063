import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyMusicgen, installTinyTextToVideo } from '#test/tiny-generators';

/*
 * Text-to-music and text-to-video through the whole platform, on tiny models of random weights in the published
 * layouts.
 */

const run = promisify(execFile);
const music = 'tiny-musicgen';
const video = 'tiny-text-to-video';

let home: string;
let platform: Platform;

type Route = 'audio' | 'video';

async function post(path: string, body: object): Promise<Response> {
  return await fetch(`${platform.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function answer(path: string, body: object) {
  const response = await post(path, body);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Queues a job and polls until it is done. */
async function made(route: Route, options: object): Promise<{ type: string | null; bytes: Buffer }> {
  const { status, body: queued } = await answer(`/${route}/queue`, options);
  expect(status, JSON.stringify(queued)).toBe(200);
  const { model, queue_id } = queued as { model: string; queue_id: string };
  const deadline = performance.now() + 60_000;
  for (;;) {
    const response = await post(`/${route}/retrieve`, { model, queue_id });
    const bytes = Buffer.from(await response.arrayBuffer());
    const type = response.headers.get('content-type');
    if (type?.startsWith('application/json') !== true) return { type, bytes };
    expect(response.status, `${bytes.toString()}\n${platform.log()}`).toBe(200);
    if (performance.now() > deadline) throw new Error(`the job did not finish\n${platform.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function lastCharge(): Promise<{ state: string; charged_nano: string | null } | undefined> {
  await platform.closedJobs(60_000);
  const [row] = await platform.query<{ state: string; charged_nano: string | null }>(
    `SELECT jobs.state, holds.charged_nano FROM jobs LEFT JOIN holds ON holds.request_id = jobs.request_id
     ORDER BY jobs.created_at DESC LIMIT 1`,
  );
  return row;
}

async function probe(bytes: Buffer): Promise<{ width: number; height: number; rate: string; frames: number }[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-probe-'));
  try {
    const path = join(folder, 'video.mp4');
    await writeFile(path, bytes);
    const { stdout } = await run('ffprobe', ['-v', 'error', '-count_frames', '-show_streams', '-of', 'json', path]);
    const { streams } = JSON.parse(stdout) as {
      streams: { width: number; height: number; r_frame_rate: string; nb_read_frames: string }[];
    };
    return streams.map(({ width, height, r_frame_rate: rate, nb_read_frames: frames }) => {
      return { width, height, rate, frames: Number(frames) };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [await installTinyMusicgen(home), await installTinyTextToVideo(home)];
  platform = await startPlatform({ engine: 'text', home, manifests });
});

afterAll(async () => {
  try {
    await stopConsistently(platform, 60_000);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

describe('text-to-music', () => {
  const headerBytes = 44;
  const bytesPerSecond = 2 * 32_000;

  it('has the requested length, costs its tier, and is the same for the same seed', async () => {
    const options = { model: music, prompt: 'slow jazz with a soft piano', duration_seconds: '3', seed: 5 };
    expect(await answer('/audio/quote', { model: music, duration_seconds: 3 })).toEqual({
      status: 200,
      body: { quote: 0.03 },
    });
    const piece = await made('audio', options);
    expect(piece.type).toBe('audio/wav');
    expect(piece.bytes.toString('latin1', 0, 4)).toBe('RIFF');
    expect(piece.bytes).toHaveLength(headerBytes + 3 * bytesPerSecond);
    expect(await lastCharge()).toEqual({ state: 'succeeded', charged_nano: '30000000' });
    expect((await made('audio', options)).bytes.equals(piece.bytes)).toBe(true);
    expect((await made('audio', { ...options, seed: 6 })).bytes.equals(piece.bytes)).toBe(false);
  });

  it('has the default length of its model when none is requested', async () => {
    expect(await answer('/audio/quote', { model: music })).toEqual({ status: 200, body: { quote: 0.01 } });
    const { bytes } = await made('audio', { model: 'default', prompt: 'rain', force_instrumental: true });
    expect(bytes).toHaveLength(headerBytes + 2 * bytesPerSecond);
    expect(await lastCharge()).toEqual({ state: 'succeeded', charged_nano: '10000000' });
  });

  it.each([
    [{ lyrics_prompt: 'la la' }, 'lyrics_prompt'],
    [{ duration_seconds: 5 }, 'duration_seconds'],
    [{ prompt: 'x'.repeat(101) }, 'prompt'],
    [{ voice: 'af_sky' }, 'voice'],
    [{ speed: 1.5 }, 'speed'],
    [{ seed: 1.5 }, 'seed'],
  ])('is rejected with the invalid field: %j', async (more, field) => {
    const { status, body } = await answer('/audio/queue', { model: music, prompt: 'rain', ...more });
    expect(status).toBe(400);
    expect(body.error).toContain(field);
  });
});

describe('text-to-video', () => {
  it('has the requested size and length, and costs its seconds', async () => {
    const options = {
      model: video,
      prompt: 'A red bird in the rain',
      negative_prompt: 'a river',
      duration: '2s',
      seed: 5,
    };
    expect(await answer('/video/quote', { model: video, duration: '2s' })).toEqual({
      status: 200,
      body: { quote: 0.1 },
    });
    const wide = await made('video', options);
    expect(wide.type).toBe('video/mp4');
    expect(await probe(wide.bytes)).toEqual([{ width: 56, height: 32, rate: '8/1', frames: 16 }]);
    expect(await lastCharge()).toEqual({ state: 'succeeded', charged_nano: '100000000' });
    expect((await made('video', options)).bytes.equals(wide.bytes)).toBe(true);
    const square = await made('video', { ...options, duration: 'auto', aspect_ratio: '1:1' });
    expect(await probe(square.bytes)).toEqual([{ width: 32, height: 32, rate: '8/1', frames: 8 }]);
    expect(await lastCharge()).toEqual({ state: 'succeeded', charged_nano: '50000000' });
  });

  it.each([
    [{ prompt: '' }, 'prompt'],
    [{ prompt: undefined }, 'prompt'],
    [{ duration: '3s' }, 'duration'],
    [{ aspect_ratio: '9:16' }, 'aspect_ratio'],
    [{ resolution: '480p' }, 'resolution'],
    [{ image_url: 'https://example.com/a.png' }, 'image_url'],
    [{ fps: 8 }, 'fps'],
  ])('is rejected with the invalid field: %j', async (more, field) => {
    const { status, body } = await answer('/video/queue', { model: video, prompt: 'rain', duration: '1s', ...more });
    expect(status).toBe(400);
    expect(body.error).toContain(field);
  });
});
