import type { RgbPixels } from '#inference/tasks';
import { type MediaTools, probeVideo, readFrames, type VideoProbe } from '#media';
import { secondsBilled, type VideoJobPayload } from '../contract/index.js';
import type { VideoClip, ClipFrame } from './video-clip.js';
import type { FrameModel } from './frame-model.js';

export interface VideoFramesDependencies {
  media: MediaTools;
  model: FrameModel;
  signal: AbortSignal;
  /** Time limit for reading the whole video, in ms. */
  timeoutMs: number;
  /** The video, as a file that does not change. */
  path: string;
}

/**
 * Upscales every frame of a video. Its frames reject with `INVALID_VIDEO_FORMAT` when they run beyond what is paid for.
 */
export async function videoUpscaled(
  payload: VideoJobPayload,
  dependencies: VideoFramesDependencies,
): Promise<VideoClip> {
  const source = await sourceOf(payload, dependencies);
  const { scale } = payload;
  const { width, height } = source.probe;
  const upscaled = async function* (): AsyncGenerator<ClipFrame> {
    for await (const frame of source.frames()) {
      yield { pixels: scale === 1 ? frame.data : dependencies.model.upscaled(frame, scale) };
    }
  };
  return { ...source.video, width: width * scale, height: height * scale, frames: upscaled() };
}

/** Inserts a frame between each two of a video, at twice its rate. */
export async function videoDoubled(
  payload: VideoJobPayload,
  dependencies: VideoFramesDependencies,
): Promise<VideoClip> {
  const source = await sourceOf(payload, dependencies);
  const { numerator, denominator } = source.video.fps;
  const doubled = async function* (): AsyncGenerator<ClipFrame> {
    let before: RgbPixels | null = null;
    for await (const frame of source.frames()) {
      if (before !== null) {
        yield { pixels: before.data };
        yield { pixels: dependencies.model.between(before, frame, 0.5) };
      }
      before = frame;
    }
    // Nothing follows the last frame: it keeps its duration.
    if (before !== null) {
      yield { pixels: before.data };
      yield { pixels: before.data };
    }
  };
  return {
    ...source.video,
    fps: { numerator: numerator * 2, denominator },
    expectedFrames: source.video.expectedFrames * 2,
    frames: doubled(),
  };
}

interface VideoSource {
  probe: VideoProbe;
  video: Omit<VideoClip, 'frames'>;
  frames: () => AsyncGenerator<RgbPixels>;
}

/**
 * Holds one or two frames. A video with a variable frame rate is read at its average rate, so that image and audio stay
 * in sync.
 */
async function sourceOf(
  payload: VideoJobPayload,
  { media, signal, timeoutMs, path }: VideoFramesDependencies,
): Promise<VideoSource> {
  const limits = { maxSeconds: payload.maxSeconds };
  const probe = await probeVideo(media, { path }, { ...limits, signal });
  const { width, height, fps, pixelAspect, durationSeconds } = probe;
  const rate = fps.numerator / fps.denominator;
  // The quote by the header is what is paid: no more is read.
  const claimedSeconds = secondsBilled(payload.units);
  const audio = payload.audio && probe.audio !== null ? { audio: { path } } : {};
  return {
    probe,
    video: {
      width,
      height,
      fps,
      pixelAspect,
      expectedFrames: Math.max(1, Math.round(durationSeconds * rate)),
      ...audio,
    },
    frames: () => readFrames(media, { path }, { fps: rate, claimedSeconds, limits, signal, timeoutMs }),
  };
}
