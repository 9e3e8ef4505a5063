import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { TaskOptions, TaskRequest, TaskResult } from '#inference/host';
import type { SpeakInput } from '#inference/tasks';
import { MediaTools } from '#media';
import type { ReplyEvent, RunningJob } from '#queue';
import { type ArtifactStore, createArtifactStore } from '#storage';
import type { SpeechEvent, SpeechJobPayload } from '../contract/index.js';
import { SpeechProcessor } from './speech.processor.js';

let home: string;
let artifacts: ArtifactStore;
let media: MediaTools;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-speech-'));
  artifacts = createArtifactStore({ home });
  media = await MediaTools.find({ ffmpeg: join(home, 'no-ffmpeg'), bundled: null, warn: () => undefined });
});
afterAll(() => rm(home, { recursive: true, force: true }));

const sampleRate = 24_000;

/** A host that speaks a sentence as one second of audio, unless `answer` says otherwise. */
class FakeRunner {
  readonly said: SpeakInput[] = [];

  constructor(private readonly answer: (input: SpeakInput, said: number) => Float32Array | PlatformError = oneSecond) {}

  runTask({ input }: TaskRequest, { signal }: TaskOptions): Promise<TaskResult> {
    if (signal.aborted) return Promise.resolve({ cancelled: true, output: null });
    const answer = this.answer(input as SpeakInput, this.said.length);
    this.said.push(input as SpeakInput);
    if (answer instanceof PlatformError) return Promise.reject(answer);
    return Promise.resolve({ cancelled: false, output: { samples: answer, sampleRate } });
  }
}

function oneSecond(): Float32Array {
  return new Float32Array(sampleRate).fill(0.5);
}

function setUp(payload: Partial<SpeechJobPayload> = {}, runner = new FakeRunner()) {
  const events: SpeechEvent[] = [];
  const caller = new AbortController();
  const job = {
    envelope: {
      requestId: 'r1',
      payload: {
        text: 'One. Two.',
        voice: 'af_sky',
        sampleId: null,
        speed: 1,
        language: null,
        format: 'pcm',
        ...payload,
      },
    },
    signal: caller.signal,
    replies: { send: (...sent: ReplyEvent[]) => void events.push(...(sent as SpeechEvent[])) },
    progress: () => undefined,
  } as unknown as RunningJob<SpeechJobPayload>;
  return { events, caller, runner, process: () => new SpeechProcessor({ runner, artifacts, media }).process(job) };
}

async function audioOf(events: readonly SpeechEvent[]): Promise<Buffer> {
  const parts = await Promise.all(
    events.map(async (event) => {
      if (event.type === 'audio-part') return Buffer.from(event.data, 'base64');
      return event.type === 'audio-stored' ? (await artifacts.read(event.artifactId, 2e6)).bytes : Buffer.alloc(0);
    }),
  );
  return Buffer.concat(parts);
}

describe('SpeechProcessor', () => {
  it('speaks sentence by sentence and counts all characters', async () => {
    const { events, runner, process } = setUp();
    const report = await process();
    expect(report).toMatchObject({ cancelled: false, usage: { units: { characters: 9 } } });
    expect(runner.said.map(({ text, before, voice }) => [text, before, voice])).toEqual([
      ['One.', 'sentence', 'af_sky'],
      ['Two.', 'end', 'af_sky'],
    ]);
    expect((await audioOf(events)).length).toBe(2 * sampleRate * 2);
    expect(events.at(-1)).toEqual({ type: 'audio-ended', samples: 2 * sampleRate });
  });

  it('sends one megabyte over the reply channel and the rest through storage', async () => {
    const text = Array.from({ length: 40 }, (_, index) => `Sentence ${index}.`).join(' ');
    const { events, process } = setUp({ text });
    await process();
    const inline = events.filter(({ type }) => type === 'audio-part');
    const stored = events.filter(({ type }) => type === 'audio-stored');
    expect(stored.length).toBeGreaterThan(0);
    expect((await audioOf(inline)).length).toBeLessThanOrEqual(1_024 * 1_024 + 64 * 1_024);
    for (const event of inline) expect((event as { data: string }).data.length).toBeLessThanOrEqual(88_000);
    expect((await audioOf(events)).length).toBe(40 * sampleRate * 2);
  });

  it('stops between two sentences when the client disconnects, and counts the spoken ones', async () => {
    const runner = new FakeRunner((_input, said) => {
      if (said === 1) setup.caller.abort(new PlatformError('JOB_CANCELLED', 'gone'));
      return oneSecond();
    });
    const setup = setUp({ text: 'One. Two. Three. Four.' }, runner);
    expect(await setup.process()).toMatchObject({ cancelled: true, usage: { units: { characters: 10 } } });
    expect(runner.said).toHaveLength(2);
  });

  it('refuses a text without anything to speak, before any audio', async () => {
    const { events, process } = setUp({ text: '你好' }, new FakeRunner(() => new Float32Array(0)));
    await expect(process()).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'input' });
    expect(events).toEqual([]);
  });

  it('fails as the model does', async () => {
    const runner = new FakeRunner((_input, said) =>
      said === 0 ? oneSecond() : new PlatformError('INFERENCE_FAILED', 'broken'),
    );
    await expect(setUp({}, runner).process()).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
  });

  it('does not run the model for audio that cannot be encoded', async () => {
    const { runner, process } = setUp({ format: 'mp3' });
    await expect(process()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(runner.said).toEqual([]);
  });

  it('passes the recording of a cloned voice to the model', async () => {
    const wav = Buffer.alloc(44 + 2 * sampleRate);
    wav.write('RIFF', 0, 'latin1');
    wav.writeUInt32LE(36 + 2 * sampleRate, 4);
    wav.write('WAVEfmt ', 8, 'latin1');
    for (const [offset, value] of [
      [16, 16],
      [24, sampleRate],
      [28, 2 * sampleRate],
      [40, 2 * sampleRate],
    ] as const) {
      wav.writeUInt32LE(value, offset);
    }
    for (const [offset, value] of [
      [20, 1],
      [22, 1],
      [32, 2],
      [34, 16],
    ] as const)
      wav.writeUInt16LE(value, offset);
    wav.write('data', 36, 'latin1');
    const { id } = await artifacts.put(wav, { kind: 'input', contentType: 'audio/wav' });
    const { runner, process } = setUp({ voice: null, sampleId: id });
    await process();
    expect(runner.said[0]?.voice).toMatchObject({ sampleRate, samples: { length: sampleRate } });
  });
});
