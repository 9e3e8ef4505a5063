import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { release, generatedSentences } from '#test/deterministic-synthesizer';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { installTinyKokoro, tinyKokoroVoices } from '#test/tiny-voice';
import { tone, wavFile, wavSamples } from '#test/wav-file';

/* Speech through the whole platform: on a tiny model that hums, and on a test double that waits on demand. */

const run = promisify(execFile);
/** 1,000 USD per million characters. */
const nanoPerCharacter = 1_000_000n;
const hello = 'Hello world. Good morning.';

let home: string;
let platform: Platform;
let client: OpenAI;

interface SpeechBody {
  input: string;
  model?: string;
  voice?: string;
  response_format?: string;
  streaming?: boolean;
  speed?: number;
}

async function post(on: Platform, body: SpeechBody, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${on.inferenceKey}`, 'content-type': 'application/json', ...init.headers };
  return await fetch(`${on.baseUrl}/audio/speech`, { method: 'POST', ...init, headers, body: JSON.stringify(body) });
}

async function audioOf(
  on: Platform,
  body: SpeechBody,
): Promise<{ bytes: Buffer; type: string | null; length: string | null }> {
  const response = await post(on, body);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.status, bytes.toString('utf8', 0, 300)).toBe(200);
  return { bytes, type: response.headers.get('content-type'), length: response.headers.get('content-length') };
}

interface UsageRow {
  state: string;
  usage_units: { characters: number } | null;
  charged_nano: string | null;
}

async function lastJob(on: Platform): Promise<UsageRow | undefined> {
  await on.closedJobs();
  const [row] = await on.query<UsageRow>(
    `SELECT jobs.state, usage_units, holds.charged_nano FROM jobs
     LEFT JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at DESC LIMIT 1`,
  );
  return row;
}

/** ffprobe's description of an audio file. */
async function probe(bytes: Buffer): Promise<{ codec: string; seconds: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-probe-'));
  try {
    await writeFile(join(folder, 'sound'), bytes);
    const entries = ['-show_entries', 'stream=codec_name', '-show_entries', 'format=duration', '-of', 'json'];
    const { stdout } = await run('ffprobe', ['-v', 'error', ...entries, join(folder, 'sound')]);
    const { streams, format } = JSON.parse(stdout) as {
      streams: { codec_name: string }[];
      format: { duration: string };
    };
    return { codec: streams[0]?.codec_name ?? '', seconds: Number(format.duration) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Artifact files without records. */
async function artifacts(of: string): Promise<string[]> {
  const entries = await readdir(join(of, 'artifacts'), { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.json')).map(({ name }) => name);
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`timed out\n${platform?.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('speech of the tiny model', () => {
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    const manifest = await installTinyKokoro(home);
    platform = await startPlatform({ engine: 'text', home, manifests: [manifest] });
    client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  });
  afterAll(async () => {
    try {
      await platform.closedJobs();
      await expectInvariant(platform);
    } finally {
      await platform.stop();
      await rm(home, { recursive: true, force: true });
    }
  });

  it('returns an mp3 to the official client, under the name of OpenAI’s model, and bills the characters', async () => {
    const { data: response } = await client.audio.speech
      .create({ model: 'tts-1', voice: 'af_sky', input: hello })
      .withResponse();
    expect(response.headers.get('content-type')).toBe('audio/mpeg');
    expect(response.headers.get('x-service-model-id')).toBe('tiny-kokoro');
    expect(response.headers.get('x-ratelimit-limit-requests')).toMatch(/^\d+$/);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.headers.get('content-length')).toBe(String(bytes.length));
    expect(await probe(bytes)).toMatchObject({ codec: 'mp3' });
    expect(await lastJob(platform)).toEqual({
      state: 'succeeded',
      usage_units: { characters: hello.length },
      charged_nano: String(BigInt(hello.length) * nanoPerCharacter),
    });
  });

  it.each([
    ['mp3', 'audio/mpeg', 'mp3'],
    ['opus', 'audio/opus', 'opus'],
    ['aac', 'audio/aac', 'aac'],
    ['flac', 'audio/flac', 'flac'],
    ['wav', 'audio/wav', 'pcm_s16le'],
  ])('writes %s, whole and as a stream', async (format, type, codec) => {
    const pcm = await audioOf(platform, { input: hello, response_format: 'pcm' });
    const seconds = pcm.bytes.length / 2 / 24_000;
    const whole = await audioOf(platform, { input: hello, response_format: format });
    expect(whole.type).toBe(type);
    const found = await probe(whole.bytes);
    expect(found.codec).toBe(codec);
    // Codecs add a frame or two at the ends; the length of raw AAC is an estimate.
    if (format !== 'aac') expect(Math.abs(found.seconds - seconds)).toBeLessThan(0.15);
    const stream = await audioOf(platform, { input: hello, response_format: format, streaming: true });
    expect([stream.type, stream.length]).toEqual([type, null]);
    expect((await probe(stream.bytes)).codec).toBe(codec);
  });

  it('writes pcm without a header, and a wav whose header gives its length', async () => {
    const pcm = await audioOf(platform, { input: hello, response_format: 'pcm' });
    const wav = await audioOf(platform, { input: hello, response_format: 'wav' });
    expect(wav.bytes.subarray(44).equals(pcm.bytes)).toBe(true);
    expect(wav.bytes.readUInt32LE(40)).toBe(pcm.bytes.length);
  });

  it('uses the requested voice and speed', async () => {
    const loudness = async (voice: string) => {
      const { bytes } = await audioOf(platform, { input: hello, voice, response_format: 'wav' });
      return Math.max(...wavSamples(bytes));
    };
    const [quiet, loud] = [await loudness(tinyKokoroVoices[0]), await loudness(tinyKokoroVoices[1])];
    expect(loud).toBeGreaterThan(1.5 * quiet);
    const usual = await audioOf(platform, { input: hello, response_format: 'pcm' });
    const slow = await audioOf(platform, { input: hello, response_format: 'pcm', speed: 0.5 });
    expect(slow.bytes.length).toBeGreaterThan(1.8 * usual.bytes.length);
  });

  it('shows voices, formats and the pcm sample rate in the model record', async () => {
    const response = await fetch(`${platform.baseUrl}/models?type=tts`);
    const { data } = (await response.json()) as { data: { model_spec: object }[] };
    expect(data[0]?.model_spec).toMatchObject({
      voices: [...tinyKokoroVoices],
      supported_formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
      default_format: 'mp3',
      pcm_sample_rate: 24_000,
      pricing: { input: { usd: 1_000 } },
    });
  });

  it('replays a response byte for byte for the same Idempotency-Key, and charges once', async () => {
    const headers = { 'idempotency-key': 'speech-1' };
    const first = await post(platform, { input: hello, streaming: true }, { headers });
    const bytes = Buffer.from(await first.arrayBuffer());
    const before = (await platform.closedJobs()).length;
    const second = await post(platform, { input: hello, streaming: true }, { headers });
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.headers.get('content-type')).toBe('audio/mpeg');
    expect(Buffer.from(await second.arrayBuffer()).equals(bytes)).toBe(true);
    expect((await platform.closedJobs()).length).toBe(before);
  });

  it.each([
    ['an empty input', { input: '' }, 'input'],
    ['a missing input', {} as SpeechBody, 'input'],
    ['an input over the limit', { input: 'a'.repeat(4_097) }, 'input'],
    ['an unknown voice', { input: hello, voice: 'nobody' }, 'voice'],
    ['an unknown voice handle', { input: hello, voice: `vv_${'a'.repeat(24)}` }, 'voice'],
    ['an unknown format', { input: hello, response_format: 'midi' }, 'response_format'],
    ['a speed out of range', { input: hello, speed: 5 }, 'speed'],
    ['a text without speakable words', { input: '你好' }, 'input'],
  ])('rejects %s in OpenAI’s envelope, and reserves nothing', async (_what, body, param) => {
    const response = await post(platform, body);
    expect(response.status).toBe(400);
    const answer = (await response.json()) as { error: { code: string; type: string; param: string; message: string } };
    expect(answer.error).toMatchObject({ code: 'INVALID_REQUEST', type: 'invalid_request_error', param });
  });

  it('says by how much an input is too long', async () => {
    const response = await post(platform, { input: 'a'.repeat(4_097) });
    expect(await response.json()).toMatchObject({ issues: [{ code: 'too_big', path: ['input'] }] });
  });

  it('gives the official client an error it knows', async () => {
    const wrong = client.audio.speech.create({ model: 'tts-1', voice: 'nobody', input: hello });
    await expect(wrong).rejects.toMatchObject({ status: 400, code: 'INVALID_REQUEST', param: 'voice' });
    const missing = client.audio.speech.create({ model: 'no-such-model', voice: 'af_sky', input: hello });
    await expect(missing).rejects.toMatchObject({ status: 404, code: 'MODEL_NOT_FOUND' });
  });

  it('accepts 4,096 characters, and stores none of the long response', async () => {
    const input = 'Hello world. '.repeat(316).slice(0, 4_096);
    const { bytes } = await audioOf(platform, { input, response_format: 'pcm', streaming: true });
    expect(bytes.length).toBeGreaterThan(10_000_000);
    expect((await lastJob(platform))?.usage_units).toEqual({ characters: 4_096 });
    await until(async () => (await artifacts(home)).length === 0);
  });

  it('rejects a voice sample: no model here clones', async () => {
    const body = new FormData();
    body.append('file', new Blob([new Uint8Array(wavFile(tone(5)))]), 'me.wav');
    const headers = { authorization: `Bearer ${platform.inferenceKey}` };
    const response = await fetch(`${platform.baseUrl}/audio/voices`, { method: 'POST', body, headers });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 'INVALID_REQUEST',
      error: expect.stringContaining('clone') as string,
    });
  });
});

describe('speech of a model that waits', () => {
  let notes: string;
  let voices: string;
  let waiting: Platform;
  let waitingHome: string;
  const cloning = { mode: 'zero_shot', accepted_formats: ['wav', 'mp3'], min_sample_seconds: 2, retention_days: 7 };
  const formats = { supported_formats: ['mp3', 'wav', 'pcm'], default_format: 'pcm' };

  beforeAll(async () => {
    waitingHome = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    const kindMembers = { voices: ['af_sky'], voice_cloning: cloning, ...formats };
    const family = 'voice-cloning';
    const cloner = await installTinyKokoro(waitingHome, { id: 'cloner', manifest: { kindMembers, family } });
    const other = await installTinyKokoro(waitingHome, {
      id: 'other-cloner',
      manifest: { kindMembers, family, traits: {}, aliases: [] },
    });
    waiting = await startPlatform({ home: waitingHome, manifests: [cloner, other] });
    notes = dirname(waiting.journal.path);
    voices = `${waiting.baseUrl}/audio/voices`;
  });
  afterAll(async () => {
    try {
      await waiting.closedJobs();
      await expectInvariant(waiting);
    } finally {
      await waiting.stop();
      await rm(waitingHome, { recursive: true, force: true });
    }
  });

  async function upload(
    file: Buffer,
    model = 'cloner',
  ): Promise<{ status: number; body: { id?: string; code?: string } }> {
    const body = new FormData();
    body.append('file', new Blob([new Uint8Array(file)]), 'me');
    body.append('model', model);
    const headers = { authorization: `Bearer ${waiting.inferenceKey}` };
    const response = await fetch(voices, { method: 'POST', body, headers });
    return { status: response.status, body: (await response.json()) as { id?: string; code?: string } };
  }

  it.each(['pcm', 'mp3'])('sends the first sentence as %s before the second is generated', async (response_format) => {
    const name = `second${response_format}`;
    const input = `First one ${name} [[seconds=1]]. And then [[hold=${name}]].`;
    const response = await post(waiting, { input, response_format, streaming: true });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(first?.value?.length).toBeGreaterThan(0);
    expect(generatedSentences(notes).filter((text) => text.includes(name))).toHaveLength(1);
    release(notes, name);
    let bytes = first?.value?.length ?? 0;
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) bytes += part.value.length;
    expect(bytes).toBeGreaterThan(first?.value?.length ?? 0);
    expect(generatedSentences(notes).filter((text) => text.includes(name))).toHaveLength(2);
  });

  it.each([true, false])(
    'stops when the client disconnects (streaming: %s), and charges the spoken sentences',
    async (streaming) => {
      const name = `leaving${String(streaming)}`;
      const said = `Said ${name}. `;
      const input = `${said}Never said [[hold=${name}]]. Nor this ${name}.`;
      const caller = new AbortController();
      const answer = post(waiting, { input, streaming }, { signal: caller.signal }).then((response) => response.text());
      answer.catch(() => undefined);
      await until(() => generatedSentences(notes).some((text) => text.includes(name)));
      // The API must know the job before it can cancel it.
      await new Promise((resolve) => setTimeout(resolve, 100));
      caller.abort();
      await expect(answer).rejects.toThrow();
      expect(await lastJob(waiting)).toEqual({
        state: 'cancelled',
        usage_units: { characters: said.length },
        charged_nano: String(BigInt(said.length) * nanoPerCharacter),
      });
      expect(generatedSentences(notes).filter((text) => text.includes(name))).toHaveLength(1);
    },
  );

  it('ends a stream with an error when the model fails, and charges nothing', async () => {
    const response = await post(waiting, { input: 'Well. Not well [[hold=fault]] [[fail]].', streaming: true });
    expect(response.status).toBe(200);
    release(notes, 'fault');
    await expect(response.arrayBuffer()).rejects.toThrow();
    expect(await lastJob(waiting)).toMatchObject({ state: 'failed', charged_nano: '0' });
  });

  it('returns a 500 when a complete response fails', async () => {
    const response = await post(waiting, { input: 'Well. Not well [[fail]].' });
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: 'INFERENCE_FAILED' } });
  });

  it('generates a sentence again whose host died, also in a stream', async () => {
    const { bytes } = await audioOf(waiting, { input: 'Before. Crash [[crash]]. After.', streaming: true });
    expect(bytes.length).toBe(3 * 1_200 * 2);
    expect(generatedSentences(notes).slice(-3)).toEqual(['Before.', 'Crash [[crash]].', 'After.']);
  });

  it('generates everything for a client that reads nothing, in the storage and not in memory', async () => {
    const input = `Slow ${'word '.repeat(20)}[[seconds=60]]. `.repeat(3);
    const caller = new AbortController();
    const response = await post(waiting, { input, streaming: true }, { signal: caller.signal });
    expect(response.status).toBe(200);
    await waiting.closedJobs();
    expect((await artifacts(waitingHome)).length).toBeGreaterThan(0);
    caller.abort();
    await until(async () => (await artifacts(waitingHome)).length === 0);
    expect(await lastJob(waiting)).toMatchObject({ state: 'succeeded' });
  });

  it('stores a voice for its owner and model, and speaks with it', async () => {
    const sample = tone(3, 24_000);
    const { status, body } = await upload(wavFile(sample, { rate: 24_000 }));
    expect([status, body]).toEqual([200, { id: expect.stringMatching(/^vv_[\w-]{24}$/) as string, model: 'cloner' }]);
    const voice = body.id ?? '';
    const { bytes } = await audioOf(waiting, { input: 'Hello.', voice, response_format: 'pcm' });
    // The test double plays the recording itself.
    expect(bytes.length).toBe(2 * sample.length);
    const [row] = await waiting.query<{ days: number }>(
      `SELECT round(extract(epoch FROM expires_at - now()) / 86400)::int AS days FROM cloned_voices WHERE id = $1`,
      [voice],
    );
    expect(row?.days).toBe(7);

    const wrongModel = await post(waiting, { input: 'Hello.', model: 'other-cloner', voice });
    expect(wrongModel.status).toBe(400);
    await waiting.query(`UPDATE cloned_voices SET expires_at = now() - interval '1 second' WHERE id = $1`, [voice]);
    const expired = await post(waiting, { input: 'Hello.', voice });
    const unknown = await post(waiting, { input: 'Hello.', voice: `vv_${'x'.repeat(24)}` });
    expect([expired.status, unknown.status]).toEqual([400, 400]);
    expect(await expired.json()).toEqual(await unknown.json());
  });

  it.each([
    ['another container', Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(100)]), 400, 'INVALID_AUDIO_FORMAT'],
    ['a file that is no audio', Buffer.from('hello, this is not a recording'), 400, 'INVALID_AUDIO_FORMAT'],
    ['a recording that is too short', wavFile(tone(1)), 400, 'INVALID_REQUEST'],
    ['a recording that is too long', wavFile(tone(90, 1_000), { rate: 1_000 }), 413, 'PAYLOAD_TOO_LARGE'],
    ['an empty file', Buffer.alloc(0), 400, 'INVALID_REQUEST'],
  ])('rejects %s, and stores nothing', async (_what, file, status, code) => {
    const before = (await artifacts(waitingHome)).length;
    expect(await upload(file)).toMatchObject({ status, body: { code } });
    expect((await artifacts(waitingHome)).length).toBe(before);
  });
});
