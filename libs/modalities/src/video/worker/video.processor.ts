import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { noTokens } from '#common';
import type { TaskRunner } from '#inference/host';
import { type MediaTools, writeVideo } from '#media';
import { type JobReport, type RunningJob, toolTimeMs } from '#queue';
import type { ArtifactStore } from '#storage';
import type { VideoJobPayload } from '../contract/index.js';
import { videoBetween } from './interpolate-images.js';
import type { VideoClip } from './video-clip.js';
import { FrameModel } from './frame-model.js';
import { framesAhead } from './frames-ahead.js';
import { videoFromText } from './from-text.js';
import { videoDoubled, videoUpscaled } from './video-frames.js';

export interface VideoProcessorDependencies {
  runner: TaskRunner;
  artifacts: ArtifactStore;
  media: MediaTools;
}

const contentType = 'video/mp4';

/** Generates the frames of one video, and ends with the job or when no more of them are wanted. */
interface FrameMaking {
  model: FrameModel;
  signal: AbortSignal;
  end: () => void;
}

/** Generates one video frame by frame: only a few frames are in memory, whatever its length. */
export class VideoProcessor {
  constructor(private readonly dependencies: VideoProcessorDependencies) {}

  /** Rejects with a `PlatformError`, or with the signal's reason: a partial video is worth nothing. */
  async process(job: RunningJob<VideoJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { envelope, signal } = job;
    const { payload } = envelope;
    const { runner, media } = this.dependencies;
    await media.require();
    const ended = new AbortController();
    const ends = AbortSignal.any([signal, ended.signal]);
    const model = new FrameModel(runner, envelope.requestId, ends);
    const artifactId = await this.make(job, { model, signal: ends, end: () => ended.abort() });
    return {
      usage: { ...noTokens, units: payload.units },
      cancelled: false,
      executionMs: Math.round(performance.now() - startedAt),
      artifacts: [artifactId],
    };
  }

  private async make(job: RunningJob<VideoJobPayload>, making: FrameMaking): Promise<string> {
    const { payload } = job.envelope;
    const { artifacts, media } = this.dependencies;
    const { model, signal } = making;
    if (payload.words) {
      const progress = (percent: number): void => job.progress(percent);
      return await this.write(job, await videoFromText(payload, payload.words, { model, progress }), making);
    }
    if (payload.operation === 'between') {
      return await this.write(job, videoBetween(payload, { artifacts, model }), making);
    }
    const [input = ''] = payload.inputs;
    return await artifacts.withFile(input, async (path) => {
      const make = payload.operation === 'upscale' ? videoUpscaled : videoDoubled;
      const timeoutMs = toolTimeMs(job.envelope);
      return await this.write(job, await make(payload, { media, model, signal, timeoutMs, path }), making);
    });
  }

  private async write(job: RunningJob<VideoJobPayload>, video: VideoClip, { end }: FrameMaking): Promise<string> {
    const { artifacts, media } = this.dependencies;
    const { signal, envelope } = job;
    const { resultId } = envelope.payload;
    const { width, height, fps, pixelAspect = null, audio } = video;
    return await media.withFolder(async (folder) => {
      const path = join(folder, 'video.mp4');
      const frames = told(framesAhead(video.frames, end), video, job);
      const timeoutMs = toolTimeMs(envelope);
      const options = { width, height, fps, pixelAspect, signal, timeoutMs, ...(audio && { audio }) };
      await writeVideo(media, path, frames, options);
      const content = createReadStream(path);
      const { id } =
        resultId === null
          ? await artifacts.put(content, { kind: 'result', contentType, signal })
          : await artifacts.putReserved(resultId, content, { contentType, signal });
      return id;
    });
  }
}

/** Passes the frames on and reports progress; the last percent is for encoding and storing. */
async function* told(
  frames: AsyncIterable<Uint8Array>,
  { expectedFrames, donePercent = 0 }: VideoClip,
  job: RunningJob<VideoJobPayload>,
): AsyncGenerator<Uint8Array> {
  let count = 0;
  for await (const frame of frames) {
    yield frame;
    count += 1;
    job.progress(Math.min(99, donePercent + (count / expectedFrames) * (100 - donePercent)));
  }
}
