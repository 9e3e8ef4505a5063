import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyWhisper, tinyWhisperText, tinyWhisperTranslation } from '#test/tiny-speech';
import { installTinyTransducer } from '#test/tiny-transducer';
import { recordTone, toneWav } from '#test/tone-recording';
import { wavFile } from '#test/wav-file';

/* Recordings through the whole platform, on a tiny model that always writes the same words. */

const priceNano = 1_000_000n;

let platform: Platform;
let client: OpenAI;
let home: string;
let scratch: string;
let site: Server;
let siteUrl: string;

function form(file: Buffer | null, fields: Record<string, string> = {}, name = 'talk.wav'): FormData {
  const body = new FormData();
  if (file !== null) body.append('file', new Blob([new Uint8Array(file)]), name);
  for (const [field, value] of Object.entries(fields)) body.append(field, value);
  return body;
}

async function post(body: RequestInit['body'], headers: Record<string, string> = {}, path = '/audio/transcriptions') {
  const authorization = `Bearer ${platform.inferenceKey}`;
  const init = { method: 'POST', body, headers: { authorization, ...headers } };
  return await fetch(`${platform.baseUrl}${path}`, init);
}

async function errorOf(body: RequestInit['body'], headers: Record<string, string> = {}) {
  const response = await post(body, headers);
  const { error } = (await response.json()) as { error: { code: string; message: string; param: string | null } };
  return { status: response.status, code: error.code, param: error.param };
}

interface UsageRow {
  state: string;
  usage_units: { audioSeconds: number } | null;
  charged_nano: string | null;
}

async function lastJob(): Promise<UsageRow | undefined> {
  await platform.closedJobs();
  const [row] = await platform.query<UsageRow>(
    `SELECT jobs.state, usage_units, holds.charged_nano FROM jobs
     LEFT JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at DESC LIMIT 1`,
  );
  return row;
}

/** Resolves when a job runs. */
async function started(): Promise<void> {
  for (let look = 0; look < 400; look++) {
    const rows = await platform.query("SELECT 1 FROM jobs WHERE state = 'running'");
    if (rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('the job did not start');
}

/** Artifact files without records. */
async function artifacts(): Promise<string[]> {
  const entries = await readdir(join(home, 'artifacts'), { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.json')).map(({ name }) => name);
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  scratch = await mkdtemp(join(tmpdir(), 'sluice-sound-'));
  const manifests = [await installTinyWhisper(home), await installTinyTransducer(home)];
  const env = { SLUICE_EGRESS_NETWORKS: '127.0.0.0/8' };
  platform = await startPlatform({ engine: 'text', home, manifests, env });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  const video = await recordTone(scratch, 'talk.mp4', [
    '-f',
    'lavfi',
    '-i',
    'color=size=64x64:duration=5',
    '-shortest',
  ]);
  site = createServer((request, response) => {
    if (request.url === '/talk.mp4') response.writeHead(200, { 'content-type': 'video/mp4' }).end(video);
    else if (request.url === '/page') response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>');
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});

afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    site?.close();
    await rm(home, { recursive: true, force: true });
    await rm(scratch, { recursive: true, force: true });
  }
});

describe('the official client', () => {
  const talk = () => toFile(toneWav(5), 'talk.wav');

  it('transcribes as JSON, under the name of OpenAI’s model', async () => {
    const { data, response } = await client.audio.transcriptions
      .create({ file: await talk(), model: 'whisper-1' })
      .withResponse();
    expect(data).toEqual({ text: tinyWhisperText, duration: 5 });
    expect(response.headers.get('x-service-model-id')).toBe('tiny-whisper');
    expect(response.headers.get('x-ratelimit-limit-requests')).toMatch(/^\d+$/);
    expect(await lastJob()).toEqual({
      state: 'succeeded',
      usage_units: { audioSeconds: 5 },
      charged_nano: String(5n * priceNano),
    });
  });

  it('gets text, subtitles and verbose JSON with words', async () => {
    const make = async (response_format: 'text' | 'srt' | 'vtt') =>
      (await client.audio.transcriptions.create({
        file: await talk(),
        model: 'whisper-1',
        response_format,
      })) as unknown;
    expect(await make('text')).toBe(tinyWhisperText);
    expect(await make('srt')).toBe(`1\n00:00:00,000 --> 00:00:02,000\n${tinyWhisperText}\n`);
    expect(await make('vtt')).toBe(`WEBVTT\n\n00:00:00.000 --> 00:00:02.000\n${tinyWhisperText}\n`);
    const verbose = await client.audio.transcriptions.create({
      file: await talk(),
      model: 'whisper-1',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });
    expect(verbose).toMatchObject({ text: tinyWhisperText, language: 'english', duration: 5 });
    expect(verbose.words?.map(({ word }) => word).join(' ')).toBe(tinyWhisperText);
    expect(verbose.segments).toHaveLength(1);
  });
});

describe('a streamed transcription', () => {
  /** Longer than two blocks: the tiny model writes its words for each. */
  const long = () => toFile(toneWav(65, { rate: 8_000 }), 'talk.wav');
  const model = 'whisper-1';

  it('reaches the official client window by window, and is the text of an answer without a stream', async () => {
    const whole = await client.audio.transcriptions.create({ file: await long(), model });
    const events = [];
    const stream = await client.audio.transcriptions.create({ file: await long(), model, stream: true });
    for await (const event of stream) events.push(event);
    const deltas = events.flatMap((event) => (event.type === 'transcript.text.delta' ? [event.delta] : []));
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join('')).toBe(whole.text);
    expect(events).toHaveLength(deltas.length + 1);
    expect(events.at(-1)).toEqual({ type: 'transcript.text.done', text: whole.text });
    expect(await lastJob()).toEqual({
      state: 'succeeded',
      usage_units: { audioSeconds: 65 },
      charged_nano: String(65n * priceNano),
    });
  });

  it('is refused with a status where its file is invalid or its format has no events', async () => {
    expect(await errorOf(form(Buffer.from('text'), { stream: 'true' }))).toMatchObject({ status: 400, param: 'file' });
    const subtitles = form(toneWav(1), { stream: 'true', response_format: 'srt' });
    expect(await errorOf(subtitles)).toMatchObject({ status: 400, param: 'stream' });
  });
});

describe('a translation', () => {
  it('is English text, in the formats of transcripts, and pays the same', async () => {
    const verbose = (await client.audio.translations.create({
      file: await toFile(toneWav(5), 'talk.wav'),
      model: 'whisper-1',
      response_format: 'verbose_json',
    })) as unknown;
    expect(verbose).toMatchObject({
      task: 'translate',
      language: 'english',
      duration: 5,
      text: tinyWhisperTranslation,
      segments: [{ text: ` ${tinyWhisperTranslation}` }],
    });
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: String(5n * priceNano) });
    const srt = await post(form(toneWav(5), { response_format: 'srt' }), {}, '/audio/translations');
    expect(await srt.text()).toContain(tinyWhisperTranslation);
    const plain = await client.audio.translations.create({
      file: await toFile(toneWav(5), 'a.wav'),
      model: 'whisper-1',
    });
    expect(Object.keys(plain)).toEqual(['text', 'duration']);
  });

  it('is refused without a recording, and charges nothing', async () => {
    const before = await platform.closedJobs();
    const response = await post(form(null, { model: 'whisper-1' }), {}, '/audio/translations');
    expect(await response.json()).toMatchObject({ error: { code: 'INVALID_REQUEST', param: 'file' } });
    expect(await platform.closedJobs()).toHaveLength(before.length);
  });
});

describe('a transducer', () => {
  const model = 'tiny-parakeet';
  /** A tone that rises and falls, of which the tiny model makes sentences. */
  const siren = Float32Array.from({ length: 8 * 16_000 }, (_, index) => {
    const t = index / 16_000;
    return 0.4 * Math.sin(900 * Math.sin(2 * t) + 1_500 * t);
  });
  const file = () => toFile(wavFile(siren), 'talk.wav');

  it('answers in every format with the same words', async () => {
    const { transcriptions } = client.audio;
    const verbose = await transcriptions.create({
      file: await file(),
      model,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });
    const { text, words = [], segments = [], language, duration } = verbose;
    expect({ language, duration, isLong: words.length > 5 }).toEqual({
      language: 'unknown',
      duration: 8,
      isLong: true,
    });
    const withoutSpaces = (pieces: string[]) => pieces.join('').replaceAll(/\s/g, '');
    expect(withoutSpaces(words.map(({ word }) => word))).toBe(withoutSpaces([text]));
    expect(
      segments
        .map((segment) => segment.text)
        .join('')
        .trim(),
    ).toBe(text);
    const starts = words.map(({ start }) => start);
    expect(starts).toEqual(starts.toSorted((left, right) => left - right));
    const cues = segments.map((segment) => segment.text.trim());
    for (const format of ['srt', 'vtt'] as const) {
      const subtitles = (await transcriptions.create({ file: await file(), model, response_format: format })) as string;
      expect(subtitles.split('\n').filter((line) => cues.includes(line))).toEqual(cues);
    }
    expect((await transcriptions.create({ file: await file(), model, language: 'de' })).text).toBe(text);
    expect(await transcriptions.create({ file: await file(), model, response_format: 'text' })).toBe(text);
    const events = [];
    const stream = await transcriptions.create({ file: await file(), model, stream: true });
    for await (const event of stream) events.push(event);
    expect(events.at(-1)).toEqual({ type: 'transcript.text.done', text });
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: String(8n * priceNano) });
  });

  it('refuses what it cannot follow, and charges nothing', async () => {
    const before = await platform.closedJobs();
    const refused = async (fields: Record<string, string>) => await errorOf(form(wavFile(siren), { model, ...fields }));
    const expected = { status: 400, code: 'INVALID_REQUEST' };
    expect(await refused({ prompt: 'Ada' })).toEqual({ ...expected, param: 'prompt' });
    expect(await refused({ language: 'ja' })).toEqual({ ...expected, param: 'language' });
    const translation = await post(form(wavFile(siren), { model }), {}, '/audio/translations');
    expect(await translation.json()).toMatchObject({ error: { code: 'INVALID_REQUEST', param: 'model' } });
    expect(await platform.closedJobs()).toHaveLength(before.length);
  });
});

describe('a form', () => {
  it('gets timestamps of words and segments on request', async () => {
    const response = await post(form(toneWav(5, { rate: 44_100, channels: 2 }), { timestamps: 'true' }));
    const answer = (await response.json()) as { timestamps: { word: object[]; segment: { text: string }[] } };
    expect(answer.timestamps.segment.map(({ text }) => text)).toEqual([tinyWhisperText]);
    expect(answer.timestamps.word).toHaveLength(tinyWhisperText.split(' ').length);
  });

  it.each([
    ['talk.mp3', ['-b:a', '64k']],
    ['talk.flac', []],
    ['talk.ogg', ['-c:a', 'libvorbis']],
    ['talk.oga', ['-c:a', 'libopus']],
    ['talk.m4a', []],
    ['talk.aac', []],
    ['talk.webm', []],
    ['talk.mp4', []],
  ])('can contain %s', async (name, args) => {
    const response = await post(form(await recordTone(scratch, name, args), {}, name));
    const answer = (await response.json()) as { text: string; duration: number };
    expect(answer.text).toBe(tinyWhisperText);
    expect(answer.duration).toBeGreaterThan(4.9);
    expect(answer.duration).toBeLessThan(5.3);
  });

  it('can contain a recording of many windows, and pays its seconds', async () => {
    const response = await post(form(toneWav(75), { response_format: 'verbose_json' }));
    const answer = (await response.json()) as { segments: { start: number; seek: number }[]; duration: number };
    expect(answer.segments.map(({ start }) => Math.round(start))).toEqual([0, 30, 60]);
    expect(answer.duration).toBe(75);
    expect(await lastJob()).toMatchObject({ charged_nano: String(75n * priceNano) });
  });

  it('gets its first response again for the same key and bytes', async () => {
    const key = { 'idempotency-key': 'transcribe-once' };
    const file = toneWav(4);
    const boundary = 'b0undary';
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`;
    const body = Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)]);
    const type = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    const first = await post(body, { ...key, ...type });
    const before = await platform.closedJobs();
    const second = await post(body, { ...key, ...type });
    expect(await second.text()).toBe(await first.text());
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(await platform.closedJobs()).toHaveLength(before.length);
  });
});

describe('an invalid recording', () => {
  const bad: [string, () => FormData | Promise<FormData>, object][] = [
    ['is empty', () => form(Buffer.alloc(0)), { status: 422, code: 'ASR_UPSTREAM_VALIDATION_FAILED', param: 'file' }],
    [
      'is text',
      () => form(Buffer.from('hello, I am a text')),
      { status: 400, code: 'INVALID_AUDIO_FORMAT', param: 'file' },
    ],
    [
      'is longer than four hours',
      () => form(toneWav(14_403, { silent: true, rate: 1_000, bits: 8 })),
      { status: 413, code: 'PAYLOAD_TOO_LARGE' },
    ],
    [
      'has half a header',
      () => form(toneWav(1).subarray(0, 30)),
      { status: 422, code: 'ASR_UPSTREAM_VALIDATION_FAILED' },
    ],
    ['has only a header', () => form(toneWav(0)), { status: 422, code: 'ASR_UPSTREAM_VALIDATION_FAILED' }],
    ['is silent', () => form(toneWav(40, { silent: true })), { status: 422, code: 'ASR_UPSTREAM_VALIDATION_FAILED' }],
    [
      'is a damaged flac',
      async () => form((await recordTone(scratch, 'cut.flac', [])).fill(0, 200), {}, 'a.flac'),
      { status: 422, code: 'ASR_UPSTREAM_VALIDATION_FAILED' },
    ],
    ['is missing', () => form(null, { model: 'whisper-1' }), { status: 400, code: 'INVALID_REQUEST', param: 'file' }],
    ['is base64', () => form(null, { file: toneWav(1).toString('base64') }), { status: 400, code: 'INVALID_REQUEST' }],
    [
      'names an unknown model',
      () => form(toneWav(1), { model: 'no-such' }),
      { status: 404, code: 'MODEL_NOT_FOUND', param: 'model' },
    ],
    ['asks for XML', () => form(toneWav(1), { response_format: 'xml' }), { status: 400, param: 'response_format' }],
    ['is too large', () => form(Buffer.alloc(25 * 1024 * 1024 + 1)), { status: 413, code: 'PAYLOAD_TOO_LARGE' }],
  ];

  it.each(bad)('that %s gets the documented error and costs nothing', async (_what, make, expected) => {
    const body = await make();
    expect(await errorOf(body)).toMatchObject(expected);
    await platform.closedJobs();
    const open = await platform.query("SELECT request_id FROM holds WHERE state = 'open'");
    expect(open).toEqual([]);
    expect(await artifacts()).toEqual([]);
  });

  it('with a wrong boundary, or that is no form, is rejected', async () => {
    const lines = '--one\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nRIFF\r\n--one--\r\n';
    const other = { 'content-type': 'multipart/form-data; boundary=two' };
    expect(await errorOf(lines, other)).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    expect(await errorOf(lines, { 'content-type': 'multipart/form-data' })).toMatchObject({ status: 400 });
    const json = { 'content-type': 'application/json' };
    expect(await errorOf('{}', json)).toMatchObject({ status: 415, code: 'INVALID_CONTENT_TYPE' });
  });
});

describe('a client that disconnects', () => {
  it('pays the processed seconds, and the work ends', async () => {
    const abort = new AbortController();
    const long = toneWav(1_500, { rate: 8_000, bits: 8 });
    const answer = fetch(`${platform.baseUrl}/audio/transcriptions`, {
      method: 'POST',
      body: form(long),
      headers: { authorization: `Bearer ${platform.inferenceKey}` },
      signal: abort.signal,
    });
    const ended = answer.then(
      () => 'answered',
      () => 'left',
    );
    await started();
    abort.abort();
    expect(await ended).toBe('left');
    const row = await lastJob();
    expect(row?.state).toBe('cancelled');
    expect(row?.usage_units?.audioSeconds).toBeLessThan(1_500);
    expect(row?.charged_nano).toBe(String(BigInt(Math.round((row?.usage_units?.audioSeconds ?? -1) * 1e9) / 1_000)));
  });
});

describe('a recording whose model host dies midway', () => {
  it('is transcribed: the next host continues with the same window', async () => {
    const answer = post(form(toneWav(360, { rate: 8_000, bits: 8 }), { response_format: 'verbose_json' }));
    await started();
    process.kill(platform.hostPid('tiny-whisper'), 'SIGKILL');
    const { segments, duration } = (await (await answer).json()) as { segments: { start: number }[]; duration: number };
    expect(duration).toBe(360);
    expect(segments.map(({ start }) => Math.round(start))).toEqual(
      Array.from({ length: 12 }, (_, index) => index * 30),
    );
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: String(360n * priceNano) });
    await platform.untilOnline();
  });
});

describe('a video by its URL', () => {
  const ask = (body: object) =>
    post(JSON.stringify(body), { 'content-type': 'application/json' }, '/video/transcriptions');

  it('is transcribed as JSON and as text', async () => {
    const json = await ask({ url: `${siteUrl}/talk.mp4` });
    expect(await json.json()).toEqual({ transcript: tinyWhisperText, lang: 'en' });
    const text = await ask({ url: `${siteUrl}/talk.mp4`, response_format: 'text' });
    expect(text.headers.get('content-type')).toContain('text/plain');
    expect(await text.text()).toBe(tinyWhisperText);
  });

  it.each([
    ['http://10.0.0.1/talk.mp4', 400],
    ['file:///etc/passwd', 400],
    ['talk.mp4', 400],
    ['/missing', 400],
    ['/page', 400],
  ])('is rejected at %s', async (url, status) => {
    const response = await ask({ url: url.startsWith('/') ? `${siteUrl}${url}` : url });
    expect([response.status, await response.json()]).toEqual([
      status,
      expect.objectContaining({ error: expect.any(String) as string, code: expect.any(String) as string }),
    ]);
  });
});
