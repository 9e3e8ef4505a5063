import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeImage } from '#media';
import { itInFull } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyInterpolator, installTinyUpscaler } from '#test/tiny-video';

/* Videos through the whole platform, on tiny models with predictable frames. */

const run = promisify(execFile);
const nanoPerSecond = 10_000_000n;
const consent = {
  flow: 'seedance',
  consent_version: '1',
  policy_text: 'Only what is yours.',
  docs_url: 'https://example.org/consent',
};

let home: string;
let scratch: string;
let platform: Platform;
let black: string;
let white: string;
let video: string;

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Bearer ${platform.inferenceKey}`;
  return await fetch(`${platform.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

interface Answer {
  status: number;
  body: Record<string, unknown> & { code?: string; error?: unknown };
}

async function answer(path: string, body: object): Promise<Answer> {
  const response = await post(path, body);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

/** Queues a job; returns its id and its download link. */
async function queue(body: object): Promise<{ model: string; queue_id: string; download_url?: string }> {
  const response = await post('/video/queue', body);
  const queued = (await response.json()) as { model: string; queue_id: string };
  expect(response.status, JSON.stringify(queued)).toBe(200);
  return queued;
}

/** Polls until the job is done; returns the last response. */
async function untilDone(job: { model: string; queue_id: string }, more: object = {}): Promise<Response> {
  const deadline = performance.now() + 90_000;
  for (;;) {
    const response = await post('/video/retrieve', { model: job.model, queue_id: job.queue_id, ...more });
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    if (!isJson) return response;
    const copy = (await response.clone().json()) as { status?: string };
    if (copy.status !== 'PROCESSING') return response;
    if (performance.now() > deadline) throw new Error(`the video was not generated\n${platform.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

interface Probe {
  width: number;
  height: number;
  rate: string;
  frames: number;
  seconds: number;
  hasAudio: boolean;
}

async function probe(bytes: Buffer): Promise<Probe> {
  const path = join(scratch, 'probed.mp4');
  await writeFile(path, bytes);
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-show_format', '-of', 'json', path];
  const { streams, format } = JSON.parse((await run('ffprobe', args)).stdout) as {
    streams: { codec_type: string; width: number; height: number; r_frame_rate: string; nb_read_frames: string }[];
    format: { duration: string };
  };
  const video = streams.find(({ codec_type: type }) => type === 'video');
  return {
    width: video?.width ?? 0,
    height: video?.height ?? 0,
    rate: video?.r_frame_rate ?? '',
    frames: Number(video?.nb_read_frames),
    seconds: Number(format.duration),
    hasAudio: streams.some(({ codec_type: type }) => type === 'audio'),
  };
}

/** Mean gray value of each frame of a video. */
async function greys(bytes: Buffer): Promise<number[]> {
  const path = join(scratch, 'grey.mp4');
  await writeFile(path, bytes);
  const filters = 'scale=1:1:flags=area,format=rgb24';
  const args = ['-v', 'error', '-i', path, '-vf', filters, '-fps_mode', 'passthrough', '-f', 'rawvideo', 'pipe:1'];
  const { stdout } = await run('ffmpeg', args, { encoding: 'buffer' });
  return [...stdout].filter((_, index) => index % 3 === 1);
}

async function bytesOf(response: Response): Promise<Buffer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get('content-type'), bytes.toString('utf8', 0, 300)).toBe('video/mp4');
  return bytes;
}

async function image(value: number): Promise<string> {
  const [width, height] = [96, 64];
  const pixels = { width, height, channels: 3, data: new Uint8Array(width * height * 3).fill(value) } as const;
  return `data:image/png;base64,${(await encodeImage(pixels, { format: 'png' })).toString('base64')}`;
}

interface ChargeRow {
  state: string;
  reserved_nano: string;
  charged_nano: string | null;
}

async function lastCharge(): Promise<ChargeRow | undefined> {
  await platform.closedJobs(60_000);
  const [row] = await platform.query<ChargeRow>(
    `SELECT jobs.state, holds.usd_nano AS reserved_nano, holds.charged_nano FROM jobs
     LEFT JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at DESC LIMIT 1`,
  );
  return row;
}

/** Artifact files without records. */
async function artifacts(): Promise<string[]> {
  const entries = await readdir(join(home, 'artifacts'), { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.json')).map(({ name }) => name);
}

const between = (more: object = {}) => ({
  model: 'tiny-rife',
  duration: '1s',
  image_url: black,
  end_image_url: white,
  resolution: '256p',
  ...more,
});

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  scratch = await mkdtemp(join(tmpdir(), 'sluice-video-'));
  [black, white] = await Promise.all([image(0), image(255)]);
  const path = join(scratch, 'source.mp4');
  const source = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=2'];
  const audio = ['-f', 'lavfi', '-i', 'sine=frequency=300:duration=2'];
  await run('ffmpeg', ['-v', 'error', '-y', ...source, ...audio, '-c:v', 'libx264', '-c:a', 'aac', '-shortest', path]);
  video = `data:video/mp4;base64,${(await readFile(path)).toString('base64')}`;
  const manifests = [
    await installTinyInterpolator(home),
    await installTinyUpscaler(home),
    await installTinyUpscaler(home, {
      id: 'tiny-private',
      manifest: {
        kindMembers: { supported_inputs: ['video_url'], upscale_factors: [2], private_delivery: true, consent },
      },
    }),
  ];
  platform = await startPlatform({ engine: 'text', home, manifests, env: { SLUICE_MEDIA_DEADLINE_MS: '5400000' } });
});

afterAll(async () => {
  try {
    await stopConsistently(platform, 60_000);
  } finally {
    await rm(home, { recursive: true, force: true });
    await rm(scratch, { recursive: true, force: true });
  }
});

describe('a video from a first and a last frame', () => {
  it('may take as long as the operator allows', async () => {
    const job = await queue(between());
    const seconds = 'extract(epoch FROM deadline_at - created_at)::int AS seconds';
    const rows = await platform.query(`SELECT ${seconds} FROM jobs ORDER BY created_at DESC LIMIT 1`);
    expect(rows).toEqual([{ seconds: 5_400 }]);
    await bytesOf(await untilDone(job));
  });

  it('moves evenly from one to the other, at the requested resolution and rate, and costs what was quoted', async () => {
    const { body: quoted } = await answer('/video/quote', { model: 'tiny-rife', duration: '2s', resolution: '256p' });
    expect(quoted).toEqual({ quote: 0.02 });
    const job = await queue(between({ duration: '2s', fps: 12, prompt: 'It becomes light.' }));
    expect(job).toEqual({ model: 'tiny-rife', queue_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    const response = await untilDone(job);
    expect(response.headers.get('x-service-progress-percent')).toBe('100');
    const bytes = await bytesOf(response);
    expect(await probe(bytes)).toMatchObject({ width: 384, height: 256, rate: '12/1', frames: 24, hasAudio: false });
    const shades = await greys(bytes);
    for (const [frame, shade] of shades.entries()) expect(Math.abs(shade - (255 * frame) / 23)).toBeLessThan(6);
    expect(await lastCharge()).toEqual({
      state: 'succeeded',
      reserved_nano: String(2n * nanoPerSecond),
      charged_nano: String(2n * nanoPerSecond),
    });
  });

  it('shows its keyframes at their times, and stands still after the last one', async () => {
    const keyframes = [
      { image_url: black, frame_index: 0 },
      { image_url: white, frame_index: 6 },
      { image_url: black, frame_index: 12 },
    ];
    const job = await queue(between({ keyframes, image_url: undefined, end_image_url: undefined }));
    const shades = await greys(await bytesOf(await untilDone(job)));
    expect(shades).toHaveLength(24);
    expect(shades[0]).toBeLessThan(6);
    expect(shades[6]).toBeGreaterThan(249);
    expect(Math.abs((shades[3] ?? 0) - 127)).toBeLessThan(8);
    expect(Math.max(...shades.slice(12))).toBeLessThan(6);
  });

  it('is stored until it is completed, for its owner only', async () => {
    const job = await queue(between());
    expect(await answer('/video/complete', job)).toEqual({ status: 200, body: { success: false } });
    const first = await bytesOf(await untilDone(job));
    expect((await bytesOf(await untilDone(job))).equals(first)).toBe(true);
    const foreign = { ...job, model: 'tiny-upscaler' };
    expect(await answer('/video/retrieve', foreign)).toMatchObject({ status: 404, body: { code: 'MEDIA_NOT_FOUND' } });
    expect(await answer('/video/complete', foreign)).toMatchObject({ status: 404 });
    const unknown = { model: 'tiny-rife', queue_id: '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0' };
    expect(await answer('/video/retrieve', unknown)).toMatchObject({ status: 404, body: { code: 'MEDIA_NOT_FOUND' } });
    expect(await answer('/video/complete', job)).toEqual({ status: 200, body: { success: true } });
    expect(await answer('/video/complete', job)).toEqual({ status: 200, body: { success: true } });
    expect(await answer('/video/retrieve', job)).toMatchObject({ status: 404, body: { code: 'MEDIA_NOT_FOUND' } });
  });

  it('is sent once when deletion is allowed', async () => {
    const job = await queue(between());
    await bytesOf(await untilDone(job, { delete_media_on_completion: true }));
    expect(await answer('/video/retrieve', job)).toMatchObject({ status: 404 });
  });

  it('is queued once for one idempotency key', async () => {
    const key = { 'idempotency-key': 'one-video' };
    const [first, second] = [await post('/video/queue', between(), key), await post('/video/queue', between(), key)];
    expect(await second.json()).toEqual(await first.json());
    expect(second.headers.get('idempotent-replayed')).toBe('true');
  });
});

describe('an input video', () => {
  it('is upscaled with its audio, and billed by its length', async () => {
    const { body: quoted } = await answer('/video/quote', {
      model: 'tiny-upscaler',
      duration: 'auto',
      video_url: video,
    });
    expect(quoted).toEqual({ quote: 0.06 });
    const job = await queue({ model: 'tiny-upscaler', duration: 'auto', upscale_factor: 2, video_url: video });
    const bytes = await bytesOf(await untilDone(job));
    const made = await probe(bytes);
    expect(made).toMatchObject({ width: 128, height: 96, rate: '10/1', frames: 20, hasAudio: true });
    expect(made.seconds).toBeCloseTo(2, 0);
    expect((await lastCharge())?.charged_nano).toBe('60000000');
  });

  it('can drop its audio', async () => {
    const job = await queue({ model: 'tiny-upscaler', duration: 'auto', video_url: video, audio: false });
    expect(await probe(await bytesOf(await untilDone(job)))).toMatchObject({ frames: 20, hasAudio: false });
  });

  it('gets twice its frames', async () => {
    const job = await queue({ model: 'tiny-rife', duration: 'auto', video_url: video });
    const made = await probe(await bytesOf(await untilDone(job)));
    expect(made).toMatchObject({ width: 64, height: 48, rate: '20/1', frames: 40, hasAudio: true });
  });
});

describe('a model that delivers by link and requires consent', () => {
  const consents = {
    seedance: {
      confirmed_terms_and_privacy: true,
      confirmed_legal_right: true,
      confirmed_screening_acknowledged: true,
    },
  };
  const options = () => ({ model: 'tiny-private', duration: 'auto', video_url: video });

  it('names the required consents, and charges nothing', async () => {
    const before = await platform.query('SELECT request_id FROM jobs');
    expect(await answer('/video/queue', options())).toEqual({
      status: 409,
      body: {
        error: { code: 'needs_consent', message: expect.stringContaining('consents.seedance') },
        consent_flow: 'seedance',
        face_media_roles: ['video'],
        consent: { consent_version: '1', policy_text: consent.policy_text },
        docs_url: consent.docs_url,
      },
    });
    expect(await platform.query('SELECT request_id FROM jobs')).toHaveLength(before.length);
  });

  it.each([
    [{ seedance: { ...consents.seedance, confirmed_legal_right: false } }, 'confirmed_legal_right'],
    [{ seedance: { ...consents.seedance, more: true } }, 'more'],
    [{ ...consents, other: {} }, 'other'],
  ])('accepts no other consents: %#', async (given, field) => {
    const { status, body } = await answer('/video/queue', { ...options(), consents: given });
    expect(status).toBe(400);
    expect(body.error).toContain(field);
  });

  it('serves the video to anyone with the link, and never as bytes', async () => {
    const { download_url: url = '', ...job } = await queue({ ...options(), consents });
    expect(url).toContain('/api/v1/media/');
    const done = await untilDone(job);
    expect(await done.json()).toEqual({
      status: 'COMPLETED',
      average_execution_time: expect.any(Number),
      execution_duration: expect.any(Number),
    });
    const file = await fetch(url);
    expect(await probe(await bytesOf(file))).toMatchObject({ width: 128, height: 96 });
    expect(await answer('/video/complete', job)).toEqual({ status: 200, body: { success: true } });
    expect((await fetch(url)).status).toBe(404);
  });
});

describe('bad input', () => {
  it.each([
    [
      'a field the model does not take',
      { reference_image_urls: ['https://example.org/a.png'] },
      'reference_image_urls',
    ],
    ['a factor for a generating model', { upscale_factor: 2 }, 'upscale_factor'],
    ['an unsupported duration', { duration: '7s' }, 'duration'],
    ['an aspect ratio on a model without a choice', { aspect_ratio: '16:9' }, 'aspect_ratio'],
    ['an unsupported resolution', { resolution: '1080p' }, 'resolution'],
    ['an unsupported frame rate', { fps: 25 }, 'fps'],
    ['one image', { end_image_url: undefined }, 'two images'],
    [
      'two images for one frame',
      { keyframes: [{ image_url: 'data:image/png;base64,AAAA', frame_index: 0 }] },
      'same frame',
    ],
    [
      'a keyframe beyond the end',
      { keyframes: [{ image_url: 'data:,', frame_index: 25 }] },
      'keyframes[0].frame_index',
    ],
    ['a file that is no image', { end_image_url: 'data:image/png;base64,AAAAAAAA' }, ''],
    ['an internal address', { end_image_url: 'http://127.0.0.1:1/a.png' }, ''],
    ['a prompt beyond the limit', { prompt: 'x'.repeat(2_501) }, 'prompt'],
    ['no model', { model: undefined }, 'model'],
  ])('is rejected with the field name: %s', async (_what, more, field) => {
    const { status, body } = await answer('/video/queue', between(more));
    expect(status, JSON.stringify(body)).toBe(400);
    expect(JSON.stringify(body)).toContain(field);
  });

  it.each([
    ['a prompt', { prompt: 'sharper' }, 400],
    ['a resolution', { resolution: '720p' }, 400],
    ['an unsupported factor', { upscale_factor: 4 }, 400],
    ['no video', { video_url: undefined }, 400],
    ['a file that is no video', { video_url: 'data:video/mp4;base64,AAAAAAAA' }, 400],
  ])('is rejected by an upscaler: %s', async (_what, more, status) => {
    const options = { model: 'tiny-upscaler', duration: 'auto', video_url: video, ...more };
    expect((await answer('/video/queue', options)).status).toBe(status);
  });

  it('leaves no reservation, no row and no input', async () => {
    await platform.closedJobs(60_000);
    const before = await artifacts();
    const rows = await platform.query('SELECT request_id FROM jobs');
    await answer('/video/queue', between({ end_image_url: 'data:image/png;base64,AAAAAAAA' }));
    await answer('/video/queue', { model: 'tiny-upscaler', duration: 'auto', video_url: 'data:video/mp4;base64,AAAA' });
    expect(await artifacts()).toEqual(before);
    expect(await platform.query('SELECT request_id FROM jobs')).toHaveLength(rows.length);
    await expectInvariant(platform);
  });
});

describe('a job whose processes die', () => {
  const long = () => between({ duration: '5s', fps: 60 });

  async function percent(job: { model: string; queue_id: string }): Promise<number> {
    const response = await post('/video/retrieve', job);
    await response.arrayBuffer();
    return Number(response.headers.get('x-service-progress-percent'));
  }

  async function untilPercent(job: { model: string; queue_id: string }, min: number): Promise<void> {
    const deadline = performance.now() + 60_000;
    while ((await percent(job)) < min) {
      if (performance.now() > deadline) throw new Error(`no progress\n${platform.log()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  itInFull('runs again when its worker is killed, survives restarts of all others, and is charged once', async () => {
    const job = await queue(long());
    await untilPercent(job, 1);
    await platform.kill('worker');
    await platform.kill('ops');
    await platform.kill('api');
    await Promise.all([platform.start('ops'), platform.start('worker'), platform.start('api')]);
    const made = await probe(await bytesOf(await untilDone(job)));
    expect(made).toMatchObject({ width: 384, height: 256, rate: '60/1', frames: 300 });
    expect(await lastCharge()).toMatchObject({ state: 'succeeded', charged_nano: '50000000' });
    await platform.untilOnline();
  });

  it('continues when its model host is killed', async () => {
    const job = await queue(long());
    await untilPercent(job, 1);
    process.kill(platform.hostPid('tiny-rife'), 'SIGKILL');
    const made = await probe(await bytesOf(await untilDone(job)));
    expect(made).toMatchObject({ frames: 300 });
  });

  itInFull('fails without a charge when its workers are killed twice', async () => {
    const job = await queue(long());
    for (let death = 0; death < 2; death++) {
      // Progress never decreases: values above that of the first worker belong to the second one.
      await untilPercent(job, (await percent(job)) + 3);
      await platform.kill('worker');
      await platform.start('worker');
    }
    const response = await untilDone(job);
    expect(response.status).toBe(503);
    expect(response.headers.get('x-should-retry')).toBe('false');
    // The same response for as long as it is stored.
    expect((await answer('/video/retrieve', job)).status).toBe(503);
    expect(await lastCharge()).toMatchObject({ state: 'failed', charged_nano: '0' });
    await platform.untilOnline();
  });
});

describe('ended jobs', () => {
  it('leave no reservation and no input', async () => {
    await platform.closedJobs(60_000);
    await expectInvariant(platform);
    const deadline = performance.now() + 10_000;
    const inputs = async () => (await artifacts()).filter((name) => name.startsWith('i'));
    while ((await inputs()).length > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await inputs()).toEqual([]);
  });
});
