import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TaskRunner } from '#inference/host';
import type { UpscaleInput } from '#inference/tasks';
import { MediaTools, probeVideo } from '#media';
import type { RunningJob } from '#queue';
import { type ArtifactStore, createArtifactStore } from '#storage';
import { unitsOfUpscaling, type VideoJobPayload } from '../contract/index.js';
import { VideoProcessor } from './video.processor.js';

const minuteMs = 60_000;
const size = { width: 160, height: 120 };

describe('an input video', () => {
  let folder: string;
  let media: MediaTools;
  let store: ArtifactStore;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-video-jobs-'));
    store = createArtifactStore({ home: folder });
    media = await MediaTools.find({ temporaryFolder: join(folder, 'temporary') });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await rm(folder, { recursive: true, force: true });
  });

  /** Doubles the size of a video; returns what its header says. */
  async function upscaled(args: readonly string[], onFrame: (index: number) => unknown = () => undefined) {
    const path = join(folder, 'video.mp4');
    await promisify(execFile)('ffmpeg', ['-loglevel', 'error', '-y', ...args, path]);
    const { durationSeconds: seconds } = await probeVideo(media, { path }, { maxSeconds: 60 });
    let asked = 0;
    const runner: TaskRunner = {
      runTask: ({ input }) => {
        onFrame(asked++);
        const { width, height } = (input as UpscaleInput).image;
        const data = new Uint8Array(width * height * 12);
        return Promise.resolve({
          cancelled: false,
          output: { image: { width: width * 2, height: height * 2, data } },
        });
      },
    };
    const artifacts = {
      withFile: (_id: string, use: (file: string) => Promise<unknown>) => use(path),
      put: (...options: Parameters<ArtifactStore['put']>) => store.put(...options),
    } as unknown as ArtifactStore;
    const payload: VideoJobPayload = {
      operation: 'upscale',
      inputs: ['i'],
      places: [],
      width: 0,
      height: 0,
      fps: 0,
      frames: 0,
      scale: 2,
      audio: true,
      maxSeconds: 60,
      resultId: null,
      units: unitsOfUpscaling({ seconds, factor: 2 }),
    };
    const job = {
      envelope: { requestId: 'r', payload, deadlineAtMs: Date.now() + 120 * minuteMs },
      signal: new AbortController().signal,
      progress: () => undefined,
    } as unknown as RunningJob<VideoJobPayload>;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const report = await new VideoProcessor({ runner, artifacts, media }).process(job);
    vi.useRealTimers();
    return await store.withFile(report.artifacts?.[0] ?? '', (made) =>
      probeVideo(media, { path: made }, { maxSeconds: 60 }),
    );
  }

  it('may be processed until the deadline of its job', async () => {
    const video = ['-f', 'lavfi', '-i', `testsrc=size=${size.width}x${size.height}:rate=10:duration=5`];
    const made = await upscaled(video, (index) => index === 0 && vi.advanceTimersByTime(119 * minuteMs));
    expect(made).toMatchObject({ frames: 50, width: 320, height: 240 });
  });

  it('keeps the aspect ratio of its pixels', async () => {
    const video = ['-f', 'lavfi', '-i', 'testsrc=size=72x58:rate=10:duration=0.5', '-vf', 'setsar=16/11'];
    const made = await upscaled(video);
    expect(made).toMatchObject({ width: 144, height: 116, pixelAspect: { numerator: 16, denominator: 11 } });
  });
});
