import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itInFull } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyKokoro } from '#test/tiny-voice';

/* Long texts through the whole platform (`/audio/queue` and its follow-up routes), on a tiny model that hums. */

const run = promisify(execFile);
const model = 'tiny-kokoro';
/** 1,000 USD per million characters. */
const nanoPerCharacter = 1_000_000n;
const chapter = 'Hello world. Good morning.';

let home: string;
let platform: Platform;

async function post(path: string, body: object, key: string | null = platform.inferenceKey): Promise<Response> {
  const authorization = key === null ? undefined : { authorization: `Bearer ${key}` };
  return await fetch(`${platform.baseUrl}${path}`, {
    method: 'POST',
    headers: { ...authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function answer(path: string, body: object, key?: string | null) {
  const response = await post(path, body, key);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

interface Job {
  model: string;
  queue_id: string;
}

async function queue(body: object): Promise<Job> {
  const { status, body: queued } = await answer('/audio/queue', { model, ...body });
  expect(status, JSON.stringify(queued)).toBe(200);
  expect(queued).toEqual({ model, queue_id: expect.stringMatching(/^[0-9a-f-]{36}$/), status: 'QUEUED' });
  return { model, queue_id: String(queued.queue_id) };
}

/** Polls until the job is done. */
async function untilDone(job: Job, more: object = {}): Promise<Response> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const response = await post('/audio/retrieve', { ...job, ...more });
    if (response.headers.get('content-type')?.startsWith('application/json') !== true) return response;
    const copy = (await response.clone().json()) as { status?: string };
    if (copy.status !== 'PROCESSING') return response;
    if (performance.now() > deadline) throw new Error(`the text was not spoken\n${platform.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function secondsOf(response: Response): Promise<number> {
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get('content-type'), bytes.toString('utf8', 0, 300)).toBe('audio/mpeg');
  expect(response.headers.get('x-service-model-id')).toBe(model);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-probe-'));
  try {
    await writeFile(join(folder, 'sound.mp3'), bytes);
    const args = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', join(folder, 'sound.mp3')];
    return Number((await run('ffprobe', args)).stdout);
  } finally {
    await rm(folder, { recursive: true, force: true });
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

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  platform = await startPlatform({ engine: 'text', home, manifests: [await installTinyKokoro(home)] });
});

afterAll(async () => {
  try {
    await stopConsistently(platform, 60_000);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

describe('a long text', () => {
  it('becomes one file, with a pause between its chapters, and costs what was quoted', async () => {
    const { body: quoted } = await answer('/audio/quote', { model, character_count: chapter.length }, null);
    expect(quoted).toEqual({ quote: (chapter.length * Number(nanoPerCharacter)) / 1e9 });
    const one = await secondsOf(await untilDone(await queue({ prompt: chapter })));
    expect(one).toBeGreaterThan(0.5);
    expect(await lastCharge()).toEqual({
      state: 'succeeded',
      charged_nano: String(BigInt(chapter.length) * nanoPerCharacter),
    });
    const three = await secondsOf(
      await untilDone(await queue({ prompt: [chapter, chapter, chapter].join('\n\n---\n\n') })),
    );
    expect(three).toBeGreaterThan(3 * one + 3.5);
    expect(three).toBeLessThan(3 * one + 5.5);
  });

  it('is stored until it is completed, or until it was sent with deletion allowed', async () => {
    const job = await queue({ prompt: chapter });
    await secondsOf(await untilDone(job));
    await secondsOf(await untilDone(job, { delete_media_on_completion: true }));
    expect(await answer('/audio/retrieve', job)).toMatchObject({ status: 404, body: { code: 'MEDIA_NOT_FOUND' } });
    expect(await answer('/audio/complete', job)).toEqual({ status: 200, body: { success: true } });
    expect(await answer('/audio/complete', { ...job, model: 'other' })).toMatchObject({ status: 404 });
  });

  itInFull('is spoken again when its worker is killed, and charged once', async () => {
    const prompt = Array.from({ length: 400 }, () => chapter).join('\n\n');
    const job = await queue({ prompt });
    const deadline = performance.now() + 30_000;
    for (let percent = 0; percent < 1;) {
      if (performance.now() > deadline) throw new Error(`no progress\n${platform.log()}`);
      const response = await post('/audio/retrieve', job);
      percent = Number(response.headers.get('x-service-progress-percent'));
      await response.arrayBuffer();
    }
    await platform.kill('worker');
    await platform.start('worker');
    expect(await secondsOf(await untilDone(job))).toBeGreaterThan(100);
    expect(await lastCharge()).toEqual({
      state: 'succeeded',
      charged_nano: String(BigInt(prompt.length) * nanoPerCharacter),
    });
    await platform.untilOnline();
  });
});

describe('bad input', () => {
  it.each([
    ['lyrics for a voice', { lyrics_prompt: 'la la' }, 'lyrics_prompt'],
    ['a length for a voice', { duration_seconds: '30' }, 'duration_seconds'],
    ['no length at all', { duration_seconds: 0 }, 'duration_seconds'],
    ['a loop', { loop: false }, 'loop'],
    ['an unknown voice', { voice: 'nobody' }, 'voice'],
    ['a speed out of range', { speed: 5 }, 'speed'],
    ['a text beyond the limit', { prompt: 'a '.repeat(25_001) }, 'prompt'],
    ['no text', { prompt: '' }, 'prompt'],
  ])('is rejected with the field name: %s', async (_what, more, field) => {
    const { status, body } = await answer('/audio/queue', { model, prompt: chapter, ...more });
    expect(status).toBe(400);
    expect(body.error).toContain(field);
  });

  it('rejects a quote without the value that determines the price, and an unknown model', async () => {
    expect(await answer('/audio/quote', { model })).toMatchObject({ status: 400 });
    expect(await answer('/audio/quote', { model: 'nothing', character_count: 5 })).toMatchObject({ status: 404 });
  });

  it('fails without a charge when there is nothing to speak', async () => {
    const response = await untilDone(await queue({ prompt: '你好' }));
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ code: 'INFERENCE_FAILED' });
    expect(await lastCharge()).toMatchObject({ state: 'failed', charged_nano: '0' });
  });
});
