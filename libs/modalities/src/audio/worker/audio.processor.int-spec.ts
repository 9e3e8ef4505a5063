import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TaskRunner } from '#inference/host';
import { MediaTools, probeAudio } from '#media';
import type { RunningJob } from '#queue';
import { type ArtifactStore, createArtifactStore } from '#storage';
import type { AudioJobPayload, LongAudioFormat } from '../contract/index.js';
import { AudioProcessor } from './audio.processor.js';

const sampleRate = 24_000;
const minuteMs = 60_000;

describe('a long text', () => {
  let home: string;
  let media: MediaTools;
  let artifacts: ArtifactStore;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-long-text-'));
    artifacts = createArtifactStore({ home });
    media = await MediaTools.find({ temporaryFolder: join(home, 'temporary') });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await rm(home, { recursive: true, force: true });
  });

  /** Speaks three sentences of one second each; returns the audio. */
  async function spoken(
    format: LongAudioFormat,
    onSentence: (index: number) => unknown = () => undefined,
  ): Promise<Buffer> {
    let said = 0;
    const runner: TaskRunner = {
      runTask: () => {
        onSentence(said++);
        return Promise.resolve({
          cancelled: false,
          output: { samples: new Float32Array(sampleRate).fill(0.1), sampleRate },
        });
      },
    };
    const text = 'This is one. This is two. This is three.';
    const payload: AudioJobPayload = { text, voice: 'v', speed: 1, language: null, format, units: {} };
    const job = {
      envelope: { requestId: 'r', payload, deadlineAtMs: Date.now() + 120 * minuteMs },
      signal: new AbortController().signal,
      progress: () => undefined,
    } as unknown as RunningJob<AudioJobPayload>;
    const report = await new AudioProcessor({ runner, artifacts, media }).process(job);
    expect(said).toBe(3);
    return (await artifacts.read(report.artifacts?.[0] ?? '', 1_000_000)).bytes;
  }

  it('states its length in its header', async () => {
    const wav = await spoken('wav');
    expect([wav.readUInt32LE(4), wav.readUInt32LE(40)]).toEqual([wav.length - 8, wav.length - 44]);
    expect(wav).toHaveLength(44 + 3 * sampleRate * 2);
    const flac = await spoken('flac');
    expect(flac.toString('latin1', 0, 4)).toBe('fLaC');
    expect(Number(flac.readBigUInt64BE(18) & 0xfffffffffn)).toBe(3 * sampleRate);
    expect(await readdir(join(home, 'temporary'))).toEqual([]);
  });

  it('may take until the deadline of its job', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const audio = await spoken('mp3', (index) => index === 1 && vi.advanceTimersByTime(119 * minuteMs));
    vi.useRealTimers();
    const { durationSeconds } = await probeAudio(media, audio, { maxSeconds: 60 });
    expect(Math.abs((durationSeconds ?? 0) - 3)).toBeLessThan(0.2);
  });
});
