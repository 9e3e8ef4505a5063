import { inputArgs, quietly, sniffContainer } from '../tools/containers.js';
import { decodeFailure, invalidMedia, tooLong } from '../tools/media-error.js';
import { headOf, lendFile, type MediaSource } from '../tools/media-source.js';
import type { MediaTools } from '../tools/media-tools.js';
import { type AudioTrack, probeMedia, type VideoTrack } from '../tools/probe-media.js';
import { ToolProcess } from '../tools/tool-process.js';

/** What the header of a video says. */
export interface VideoProbe extends VideoTrack {
  /** Of the pictures: sound that plays on beyond them does not count. */
  durationSeconds: number;
  /** Null for a silent film. */
  audio: AudioTrack | null;
}

export interface VideoLimits {
  /** Longest video by its header. */
  maxSeconds: number;
  /** Longest side as shown, in pixels. Default 4096. */
  maxSide?: number;
  /** Default 240. */
  maxFps?: number;
}

const containers = new Set(['mp4', 'webm', 'mpeg', 'mpegts']);
/** Curves of HLG and PQ: read as if they were usual ones, their pictures are grey. */
const highRange = new Set(['arib-std-b67', 'smpte2084']);

/**
 * Size, length and tracks by the header alone. Throws `INVALID_VIDEO_FORMAT` (also for pictures beyond `maxSide` and for
 * HDR), `VIDEO_DURATION_TOO_LONG`, `SERVICE_UNAVAILABLE` without ffmpeg.
 */
export async function probeVideo(
  tools: MediaTools,
  source: MediaSource,
  { maxSeconds, maxSide = 4_096, maxFps = 240, signal }: VideoLimits & { signal?: AbortSignal },
): Promise<VideoProbe> {
  const { container, video, audio, ...whole } = await probeMedia(tools, source, { noun: 'video', signal });
  if (!containers.has(container) || video === null) throw invalidMedia('video', 'holds no moving pictures');
  if (whole.durationSeconds === null) throw invalidMedia('video', 'does not say how long it is');
  const durationSeconds = Math.min(whole.durationSeconds, video.imageSeconds ?? Number.POSITIVE_INFINITY);
  if (durationSeconds > maxSeconds) throw tooLong('video', maxSeconds);
  const { width, height, fps } = video;
  if (width < 1 || height < 1) throw invalidMedia('video', 'has no size');
  if (Math.max(width, height) > maxSide) throw invalidMedia('video', `is larger than ${maxSide} pixels a side`);
  const rate = fps.numerator / fps.denominator;
  if (highRange.has(video.colorTransfer ?? '')) {
    throw invalidMedia('video', 'has a high dynamic range (HDR), which cannot be read; convert it to SDR');
  }
  if (rate <= 0 || rate > maxFps) throw invalidMedia('video', `must have up to ${maxFps} frames a second`);
  return { ...video, durationSeconds, audio };
}

export interface ReadFramesOptions {
  /** Size of the frames that come out; default: as shown. */
  width?: number;
  height?: number;
  /** Frames per second that come out: others are dropped or doubled. Default: as they are. */
  fps?: number;
  /** With `fps`: how long the video was said to be. Default: what its header says. */
  claimedSeconds?: number;
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
 * does, and with `INVALID_VIDEO_FORMAT` where the video turns out damaged or, read at a rate, longer than was claimed.
 */
export async function* readFrames(
  tools: MediaTools,
  source: MediaSource,
  options: ReadFramesOptions,
): AsyncGenerator<VideoFrame, void, undefined> {
  const { limits, signal, timeoutMs = defaultTimeoutMs } = options;
  const probe = await probeVideo(tools, source, { ...limits, signal });
  const { fps, claimedSeconds = probe.durationSeconds } = options;
  const width = options.width ?? probe.width;
  const height = options.height ?? probe.height;
  const { ffmpeg } = tools.require();
  const container = sniffContainer((await headOf(source)).head);
  if (container === null) throw invalidMedia('video', 'is of an unknown format');
  const file = await lendFile(tools, source);
  const filters = [
    ...(fps === undefined ? [] : [`fps=${fps}`]),
    `scale=${width}:${height}:flags=bicubic:in_color_matrix=${matrixOf(probe)}`,
    'format=rgb24',
  ];
  // As they are, frames come at no rate that tells their time.
  const openEnd = { frames: Number.POSITIVE_INFINITY, seconds: limits.maxSeconds };
  const max = fps === undefined ? openEnd : maxOf(claimedSeconds, fps);
  // Enough of it to show that there is more.
  const length = ['-t', String(max.seconds + 1)];
  const output = ['-map', '0:V:0', '-vf', filters.join(','), '-fps_mode', fps === undefined ? 'passthrough' : 'cfr'];
  const args = [...quietly, '-nostdin', ...inputArgs(container, file.path), ...length, ...output, ...rawVideo];
  const tool = new ToolProcess({ program: ffmpeg, args, signal, timeoutMs });
  try {
    let index = 0;
    for await (const data of framesOf(tool.output as AsyncIterable<Buffer>, width * height * 3)) {
      signal?.throwIfAborted();
      // Some headers lie, and what was claimed is what is paid for.
      if (index >= max.frames) throw invalidMedia('video', 'plays for longer than its header says');
      yield { index, width, height, data };
      index += 1;
    }
    await tool.finished(signal);
    if (index === 0) throw invalidMedia('video', 'holds no moving pictures');
  } catch (error) {
    throw decodeFailure(tools, 'video', error);
  } finally {
    await tool.dispose();
    await file.release();
  }
}

/** What the colours of a video are written in. Where nobody says, players go by its size. */
function matrixOf({ colorSpace, width, height }: VideoTrack): string {
  const isLarge = Math.max(width, height) >= 1_280 || Math.min(width, height) > 576;
  return colorSpace === null && isLarge ? 'bt709' : 'auto';
}

/**
 * What a video may hold that claims a length. Honest headers are off by a frame or two, by some tenths of a second, or by
 * a hundredth of it all; but what claims next to nothing gets next to nothing for it.
 */
function maxOf(claimedSeconds: number, fps: number): { frames: number; seconds: number } {
  const tolerance = Math.min(claimedSeconds / 4, Math.max(0.5, claimedSeconds / 50));
  const frames = Math.ceil((claimedSeconds + tolerance) * fps) + 2;
  return { frames, seconds: (frames + 1) / fps };
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
