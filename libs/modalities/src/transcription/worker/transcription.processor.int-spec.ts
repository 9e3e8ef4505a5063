import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TaskRunner } from '#inference/host';
import type { RecognitionInput } from '#inference/tasks';
import { MediaTools } from '#media';
import type { RunningJob } from '#queue';
import type { ArtifactStore } from '#storage';
import type { TranscriptionJobPayload } from '../contract/index.js';
import { TranscriptionProcessor } from './transcription.processor.js';

const minuteMs = 60_000;

describe('a long transcription', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-long-recording-'));
  });
  afterEach(async () => {
    vi.useRealTimers();
    await rm(folder, { recursive: true, force: true });
  });

  it('may take until the deadline of its job', async () => {
    const path = join(folder, 'recording.flac');
    const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=16000:duration=90'];
    await promisify(execFile)('ffmpeg', ['-loglevel', 'error', ...tone, path]);
    const media = await MediaTools.find({ temporaryFolder: join(folder, 'temporary') });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let blocks = 0;
    const runner: TaskRunner = {
      runTask: async ({ input }) => {
        if (blocks++ === 0) vi.advanceTimersByTime(29 * minuteMs);
        const { samples } = input as RecognitionInput;
        const memory = { language: 'en', tail: [] };
        return {
          cancelled: false,
          output: { consumedSamples: samples.length, heardSpeech: true, segments: [], memory },
        };
      },
    };
    const artifacts = {
      withFile: (_id: string, use: (file: string) => Promise<unknown>) => use(path),
    } as unknown as ArtifactStore;
    const payload = { artifactId: 'a', maxSeconds: 100, timestamps: 'none' } as TranscriptionJobPayload;
    const job = {
      envelope: { requestId: 'r', payload, deadlineAtMs: Date.now() + 30 * minuteMs },
      signal: new AbortController().signal,
      progress: () => undefined,
      replies: { send: () => undefined },
    } as unknown as RunningJob<TranscriptionJobPayload>;
    const { usage } = await new TranscriptionProcessor({ runner, artifacts, media }).process(job);
    expect(usage?.units?.audioSeconds).toBeCloseTo(90, 0);
    expect(blocks).toBe(3);
  });
});
