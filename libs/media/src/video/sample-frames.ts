import type { MediaSource } from '../tools/media-source.js';
import type { MediaTools } from '../tools/media-tools.js';
import { probeVideo, readFrames, type VideoLimits, type VideoProbe } from './read-frames.js';
import { readKeyFrames } from './read-key-frames.js';

export interface SampleFramesOptions {
  /** Maximum number of frames, spread evenly over the video. */
  count: number;
  /** Frames are scaled down to this longer side, and up to this shorter side. */
  maxSide: number;
  minSide?: number;
  limits: VideoLimits;
  signal?: AbortSignal;
  /** Time limit in ms. Default two minutes. */
  timeoutMs?: number;
  /** Videos with more pixels in all their frames are sampled at key frames. Default: about a minute of 1080p. */
  maxDecodedPixels?: number;
}

/** A frame: 8-bit RGB, rows from the top. */
export interface SampledFrame {
  /** Position in the video. */
  seconds: number;
  width: number;
  height: number;
  data: Uint8Array;
}

const defaultTimeoutMs = 120_000;
const defaultMaxDecodedPixels = 4e9;

/**
 * Returns frames from the middles of equal parts of a video, in order. A large video is not decoded whole: each frame is
 * the last key frame at or before the middle of its part, and parts that share one have it once. Fails like
 * `readFrames`.
 */
export async function sampleFrames(
  tools: MediaTools,
  source: MediaSource,
  options: SampleFramesOptions,
): Promise<SampledFrame[]> {
  const { count, limits, signal, timeoutMs = defaultTimeoutMs } = options;
  const probe = await probeVideo(tools, source, { ...limits, signal });
  const { durationSeconds } = probe;
  // Short videos have at most a frame per half second.
  const wanted = Math.max(1, Math.min(count, Math.ceil(durationSeconds * 2)));
  const size = fitted(probe, options);
  if (pixelsIn(probe) > (options.maxDecodedPixels ?? defaultMaxDecodedPixels)) {
    const seconds = Array.from({ length: wanted }, (_, index) => ((index + 0.5) * durationSeconds) / wanted);
    const frames = await readKeyFrames(tools, source, { probe, seconds, ...size, signal, timeoutMs });
    if (frames.length > 0) return frames;
  }
  // Read twice as often as wanted, every second frame is from the middle of a part.
  const fps = (2 * wanted) / durationSeconds;
  const frames: SampledFrame[] = [];
  let last: SampledFrame | null = null;
  for await (const { index, ...frame } of readFrames(tools, source, { ...size, fps, limits, signal, timeoutMs })) {
    last = { ...frame, seconds: index / fps };
    if (index % 2 === 1) frames.push(last);
    if (frames.length === wanted) break;
  }
  // The last frame of a video may come before the middle of its only part.
  return frames.length === 0 && last !== null ? [last] : frames;
}

function pixelsIn({ width, height, fps, durationSeconds }: VideoProbe): number {
  return (width * height * durationSeconds * fps.numerator) / fps.denominator;
}

function fitted(
  { width, height }: VideoProbe,
  { maxSide, minSide = 1 }: SampleFramesOptions,
): { width: number; height: number } {
  const enlarged = Math.max(1, minSide / Math.min(width, height));
  const scale = Math.min(enlarged, maxSide / Math.max(width, height));
  const fit = (side: number): number => Math.max(Math.min(minSide, maxSide), Math.round(side * scale));
  return { width: fit(width), height: fit(height) };
}
