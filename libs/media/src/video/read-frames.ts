import { inputArgs, quietly, sniffContainer } from '../tools/containers.js';
import { decodeFailure, invalidMedia, tooLong } from '../tools/media-error.js';
import { headOf, lendFile, type MediaSource } from '../tools/media-source.js';
import type { MediaTools } from '../tools/media-tools.js';
import { type AudioTrack, probeMedia, type VideoTrack } from '../tools/probe-media.js';
import { ToolProcess } from '../tools/tool-process.js';

/** What the header of a video says. */
export interface VideoProbe extends VideoTrack {
  durationSeconds: number;
  /** Null for a silent film. */
  audio: AudioTrack | null;
}

export interface VideoLimits {
  maxSeconds: number;
  /** Longest side as shown, in pixels. Default 4096. */
  maxSide?: number;
  /** Default 240. */
  maxFps?: number;
}

const containers = new Set(['mp4', 'webm', 'mpeg', 'mpegts']);

/**
 * Size, length and tracks by the header alone. Throws `INVALID_VIDEO_FORMAT` (also for pictures beyond `maxSide`),
 * `VIDEO_DURATION_TOO_LONG`, `SERVICE_UNAVAILABLE` without ffmpeg.
 */
export async function probeVideo(
  tools: MediaTools,
  source: MediaSource,
  { maxSeconds, maxSide = 4_096, maxFps = 240, signal }: VideoLimits & { signal?: AbortSignal },
): Promise<VideoProbe> {
  const { container, video, audio, durationSeconds } = await probeMedia(tools, source, { noun: 'video', signal });
  if (!containers.has(container) || video === null) throw invalidMedia('video', 'holds no moving pictures');
  if (durationSeconds === null) throw invalidMedia('video', 'does not say how long it is');
  if (durationSeconds > maxSeconds) throw tooLong('video', maxSeconds);
  const { width, height, fps } = video;
  if (width < 1 || height < 1) throw invalidMedia('video', 'has no size');
  if (Math.max(width, height) > maxSide) throw invalidMedia('video', `is larger than ${maxSide} pixels a side`);
  const rate = fps.numerator / fps.denominator;
  if (rate <= 0 || rate > maxFps) throw invalidMedia('video', `must have up to ${maxFps} frames a second`);
  return { ...video, durationSeconds, audio };
}

export interface ReadFramesOptions {
  /** Size of the frames that come out; default: as shown. */
  width?: number;
  height?: number;
  /** Frames per second that come out: others are dropped or doubled. Default: as they are. */
  fps?: number;
  limits: VideoLimits;
  signal?: AbortSignal;
  /** Longest time for all of it, in ms. Default an hour. */
  timeoutMs?: number;
}

/** One picture of a video: 8-bit RGB, rows from the top. The next one is decoded when it is asked for. */
export interface VideoFrame {
  index: number;
  width: number;
  height: number;
  /** `width * height * 3` bytes, owned by whoever takes the frame. */
  data: Uint8Array;
}

const defaultTimeoutMs = 3_600_000;

/**
 * The frames of a video in order, upright. Holds two frames or so, however long the video is. Fails as `probeVideo`
 * does, and with `INVALID_VIDEO_FORMAT` where the video turns out damaged.
 */
export async function* readFrames(
  tools: MediaTools,
  source: MediaSource,
  options: ReadFramesOptions,
): AsyncGenerator<VideoFrame, void, undefined> {
  const { limits, signal, timeoutMs = defaultTimeoutMs } = options;
  const probe = await probeVideo(tools, source, { ...limits, signal });
  const width = options.width ?? probe.width;
  const height = options.height ?? probe.height;
  const { ffmpeg } = tools.require();
  const container = sniffContainer((await headOf(source)).head);
  if (container === null) throw invalidMedia('video', 'is of an unknown format');
  const file = await lendFile(tools, source);
  const filters = [
    ...(options.fps === undefined ? [] : [`fps=${options.fps}`]),
    `scale=${width}:${height}:flags=bicubic`,
    'format=rgb24',
  ];
  const length = ['-t', String(limits.maxSeconds + 1)];
  const output = [
    '-map',
    '0:v:0',
    '-vf',
    filters.join(','),
    '-fps_mode',
    options.fps === undefined ? 'passthrough' : 'cfr',
  ];
  const args = [...quietly, '-nostdin', ...inputArgs(container, file.path), ...length, ...output, ...rawVideo];
  const tool = new ToolProcess({ program: ffmpeg, args, signal, timeoutMs });
  try {
    let index = 0;
    for await (const data of framesOf(tool.output as AsyncIterable<Buffer>, width * height * 3)) {
      signal?.throwIfAborted();
      yield { index, width, height, data };
      index += 1;
    }
    await tool.finished(signal);
    if (index === 0) throw invalidMedia('video', 'holds no moving pictures');
  } catch (error) {
    throw decodeFailure('video', error);
  } finally {
    await tool.dispose();
    await file.release();
  }
}

const rawVideo = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', 'pipe:1'];

/** Cuts a byte stream into pieces of `size`; an unfinished last one is dropped. */
async function* framesOf(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<Uint8Array> {
  let frame = new Uint8Array(size);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length;) {
      const part = chunk.subarray(offset, offset + size - filled);
      frame.set(part, filled);
      filled += part.length;
      offset += part.length;
      if (filled === size) {
        yield frame;
        frame = new Uint8Array(size);
        filled = 0;
      }
    }
  }
}
