import { sniffContainer } from '../tools/containers.js';
import { decodeFailure, invalidMedia, tooLong } from '../tools/media-error.js';
import { headOf, lendFile, type MediaSource } from '../tools/media-source.js';
import type { MediaTools } from '../tools/media-tools.js';
import { measureVideo, tooFast } from './measure-video.js';
import { type AudioTrack, probeMedia, type VideoTrack } from '../tools/probe-media.js';

/** Header of a video. */
export interface VideoProbe extends VideoTrack {
  /** Of the video track; longer audio does not count. */
  durationSeconds: number;
  /** Time of the file's own clock at its start. */
  startSeconds: number;
  /** Null for a video without audio. */
  audio: AudioTrack | null;
}

export interface VideoLimits {
  /** Maximum duration by the header. */
  maxSeconds: number;
  /** Maximum side as displayed, in pixels. Default 4096. */
  maxSide?: number;
  /** Default 240. */
  maxFps?: number;
}

const containers = new Set(['mp4', 'webm', 'mpeg', 'mpegts']);
/** HLG and PQ transfer curves, whose frames would come out gray when read as usual ones. */
const highRange = new Set(['arib-std-b67', 'smpte2084']);

/**
 * Reads size, length and tracks from the header; the length of a video whose header has none is that of its packets, which
 * are read but not decoded. Throws `INVALID_VIDEO_FORMAT` (also for frames beyond `maxSide` and
 * for HDR), `VIDEO_DURATION_TOO_LONG`, `SERVICE_UNAVAILABLE` without ffmpeg.
 */
export async function probeVideo(
  tools: MediaTools,
  source: MediaSource,
  { maxSeconds, maxSide = 4_096, maxFps = 240, signal }: VideoLimits & { signal?: AbortSignal },
): Promise<VideoProbe> {
  const probe = await probeMedia(tools, source, { noun: 'video', signal });
  const { container, video, audio, startSeconds } = probe;
  if (!containers.has(container) || video === null) throw invalidMedia('video', 'has no video track');
  const measured =
    probe.durationSeconds === null
      ? await measureVideo(tools, source, probe, { maxSeconds, maxFps, signal })
      : { durationSeconds: probe.durationSeconds, fps: null };
  const durationSeconds = Math.min(measured.durationSeconds, video.imageSeconds ?? Number.POSITIVE_INFINITY);
  if (durationSeconds > maxSeconds) throw tooLong('video', maxSeconds);
  const { width, height } = video;
  // Browsers state the resolution of their clock, a thousand a second, where the rate of frames is expected.
  const fps = measured.fps ?? video.fps;
  if (width < 1 || height < 1) throw invalidMedia('video', 'has no size');
  if (Math.max(width, height) > maxSide) throw invalidMedia('video', `is larger than ${maxSide} pixels a side`);
  const rate = fps.numerator / fps.denominator;
  if (highRange.has(video.colorTransfer ?? '')) {
    throw invalidMedia('video', 'has a high dynamic range (HDR), which cannot be read; convert it to SDR');
  }
  if (rate <= 0 || rate > maxFps) throw tooFast(maxFps);
  return { ...video, fps, durationSeconds, startSeconds, audio };
}

export interface ReadFramesOptions {
  /** Size of the output frames; default: as displayed. */
  width?: number;
  height?: number;
  /** Output frame rate: frames are dropped or duplicated. Default: as in the source. */
  fps?: number;
  /** With `fps`: announced duration of the video. Default: by its header. */
  claimedSeconds?: number;
  limits: VideoLimits;
  signal?: AbortSignal;
  /** Time limit in ms. Default one hour. */
  timeoutMs?: number;
}

/** A frame of a video: 8-bit RGB, rows from the top. The next one is decoded on demand. */
export interface VideoFrame {
  index: number;
  width: number;
  height: number;
  /** `width * height * 3` bytes, owned by the receiver. */
  data: Uint8Array;
}

const defaultTimeoutMs = 3_600_000;

/**
 * Yields the frames of a video in order, upright, with about two in memory. Fails like `probeVideo`, and with
 * `INVALID_VIDEO_FORMAT` if the video is damaged or, read at a fixed rate, longer than announced.
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
  const engine = await tools.require();
  const container = sniffContainer((await headOf(source)).head);
  if (container === null) throw invalidMedia('video', 'is of an unknown format');
  const file = await lendFile(tools, source);
  // In source task, frames have no rate that gives their time.
  const openEnd = { frames: Number.POSITIVE_INFINITY, seconds: limits.maxSeconds };
  const max = fps === undefined ? openEnd : maxOf(claimedSeconds, fps);
  // Just enough to detect that there is more.
  const task = { container, path: file.path, width, height, colorMatrix: matrixOf(probe), fps: fps ?? null };
  const run = { kind: 'read-frames' as const, ...task, maxSeconds: max.seconds + 1 };
  const tool = tools.start(engine, run, { signal, timeoutMs });
  try {
    let index = 0;
    for await (const data of framesOf(tool.output as AsyncIterable<Buffer>, width * height * 3)) {
      signal?.throwIfAborted();
      // Some headers are wrong, and the announced length is what was charged.
      if (index >= max.frames) throw invalidMedia('video', 'plays for longer than its header says');
      yield { index, width, height, data };
      index += 1;
    }
    await tool.finished(signal);
    if (index === 0) throw invalidMedia('video', 'has no video track');
  } catch (error) {
    throw decodeFailure(tools, 'video', error);
  } finally {
    await tool.dispose();
    await file.release();
  }
}

/** Returns the color matrix of a video. If unspecified, players choose by size. */
export function matrixOf({ colorSpace, width, height }: VideoTrack): string {
  const isLarge = Math.max(width, height) >= 1_280 || Math.min(width, height) > 576;
  return colorSpace === null && isLarge ? 'bt709' : 'auto';
}

/**
 * Returns how many frames a video of an announced length may have. Correct headers are off by a frame or two, some
 * tenths of a second, or one percent. A tiny announced length gets a correspondingly tiny margin.
 */
function maxOf(claimedSeconds: number, fps: number): { frames: number; seconds: number } {
  const tolerance = Math.min(claimedSeconds / 4, Math.max(0.5, claimedSeconds / 50));
  const frames = Math.ceil((claimedSeconds + tolerance) * fps) + 2;
  return { frames, seconds: (frames + 1) / fps };
}

/** Splits a byte stream into pieces of `size`; an incomplete last one is dropped. */
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
