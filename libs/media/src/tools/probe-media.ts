import type { MediaContainer } from './containers.js';
import { decodeFailure, invalidMedia, type MediaNoun } from './media-error.js';
import { identifyMedia, lendFile, type MediaSource } from './media-source.js';
import type { MediaTools } from './media-tools.js';
import type { ToolProcess } from './tool-process.js';

export interface AudioTrack {
  codec: string;
  sampleRate: number;
  channels: number;
}

export interface VideoTrack {
  codec: string;
  /** As displayed, with a rotation by a quarter turn applied. */
  width: number;
  height: number;
  /** Frames per second, as an exact fraction. */
  fps: Fraction;
  /** Frame count of the container; null without one. */
  frames: number | null;
  /** Duration of the video track; null if unknown. */
  imageSeconds: number | null;
  /** Pixel aspect ratio (width over height), as displayed; null for square pixels. */
  pixelAspect: Fraction | null;
  /** Color matrix, in ffmpeg's terms (`bt709`); null if unknown. */
  colorSpace: string | null;
  /** Transfer curve, in ffmpeg's terms; null if unknown. */
  colorTransfer: string | null;
}

/** Parses a positive ratio of whole numbers. */
export interface Fraction {
  numerator: number;
  denominator: number;
}

/** Header content of a source; nothing was decoded. */
export interface MediaProbe {
  container: MediaContainer;
  /** Null if the headers do not say. */
  durationSeconds: number | null;
  /** Time of the file's own clock at its start. */
  startSeconds: number;
  audio: AudioTrack | null;
  video: VideoTrack | null;
}

const probeTimeoutMs = 10_000;
const maxOutputBytes = 262_144;

/**
 * Reads only headers. Throws `INVALID_AUDIO_FORMAT` or `INVALID_VIDEO_FORMAT` (by `noun`) for an unknown container or a
 * damaged header, `SERVICE_UNAVAILABLE` without ffmpeg.
 */
export async function probeMedia(
  tools: MediaTools,
  source: MediaSource,
  { noun, signal }: { noun: MediaNoun; signal?: AbortSignal },
): Promise<MediaProbe> {
  const { container, skipBytes, totalBytes } = await identifyMedia(source);
  if (totalBytes === 0) throw invalidMedia(noun, 'is empty');
  if (container === null) throw invalidMedia(noun, 'is of an unknown format');
  const engine = await tools.require();
  const file = await lendFile(tools, source);
  const tool = tools.start(
    engine,
    { kind: 'probe', container, path: file.path, skipBytes },
    { timeoutMs: probeTimeoutMs, signal },
  );
  try {
    const report = await readAll(tool);
    await tool.finished(signal);
    return describe(container, JSON.parse(report) as ProbeReport);
  } catch (error) {
    throw decodeFailure(tools, noun, error);
  } finally {
    await tool.dispose();
    await file.release();
  }
}

interface ProbeStream {
  codec_type?: string;
  codec_name?: string;
  sample_rate?: string;
  channels?: number;
  width?: number;
  height?: number;
  avg_frame_rate?: string;
  r_frame_rate?: string;
  nb_frames?: string;
  duration?: string;
  start_time?: string;
  sample_aspect_ratio?: string;
  color_space?: string;
  color_transfer?: string;
  disposition?: { attached_pic?: number };
  tags?: { rotate?: string };
  side_data_list?: { rotation?: number }[];
}

interface ProbeReport {
  streams?: ProbeStream[];
  format?: { duration?: string; start_time?: string };
}

async function readAll(tool: ToolProcess): Promise<string> {
  let text = '';
  for await (const chunk of tool.output as AsyncIterable<Buffer>) {
    text += chunk.toString('utf8');
    if (text.length > maxOutputBytes) tool.kill();
  }
  return text;
}

function describe(container: MediaContainer, { streams = [], format }: ProbeReport): MediaProbe {
  const audio = streams.find((stream) => stream.codec_type === 'audio');
  // ffprobe also reports the cover image of an audio file as a video stream.
  const video = streams.find((stream) => stream.codec_type === 'video' && stream.disposition?.attached_pic !== 1);
  const durations = [format?.duration, video?.duration, audio?.duration].map(Number).filter((value) => value > 0);
  return {
    container,
    durationSeconds: durations[0] ?? null,
    startSeconds: Number(format?.start_time ?? 0) || 0,
    audio: audio === undefined ? null : describeAudio(audio),
    video: video === undefined ? null : describeVideo(video, Number(format?.start_time ?? 0)),
  };
}

function describeAudio({ codec_name, sample_rate, channels }: ProbeStream): AudioTrack {
  return { codec: codec_name ?? 'unknown', sampleRate: Number(sample_rate ?? 0), channels: channels ?? 0 };
}

function describeVideo(stream: ProbeStream, startSeconds: number): VideoTrack {
  const { codec_name, width = 0, height = 0, nb_frames } = stream;
  const turned = stream.side_data_list?.find(({ rotation }) => rotation !== undefined)?.rotation ?? stream.tags?.rotate;
  const isOnItsSide = Math.abs(Number(turned ?? 0)) % 180 === 90;
  const frames = Number(nb_frames ?? Number.NaN);
  return {
    codec: codec_name ?? 'unknown',
    width: isOnItsSide ? height : width,
    height: isOnItsSide ? width : height,
    fps: fraction(stream.avg_frame_rate) ?? fraction(stream.r_frame_rate) ?? { numerator: 0, denominator: 1 },
    frames: Number.isInteger(frames) ? frames : null,
    imageSeconds: imageSecondsOf(stream, startSeconds),
    pixelAspect: pixelAspectOf(stream, isOnItsSide),
    colorSpace: named(stream.color_space),
    colorTransfer: named(stream.color_transfer),
  };
}

/**
 * Returns the end of the video track from the start of the container. Time before the first frame counts, because
 * players show that frame.
 */
function imageSecondsOf({ duration, start_time }: ProbeStream, startSeconds: number): number | null {
  const late = Number(start_time ?? 0) - startSeconds;
  return Number(duration) > 0 ? Number(duration) + Math.max(0, late || 0) : null;
}

/** Maximum pixel aspect ratio; larger values are errors or attacks. */
const maxPixelAspect = 10;

function pixelAspectOf({ sample_aspect_ratio: text }: ProbeStream, isOnItsSide: boolean): Fraction | null {
  const aspect = fraction(text?.replace(':', '/'));
  if (aspect === null || aspect.numerator === aspect.denominator) return null;
  const ratio = aspect.numerator / aspect.denominator;
  if (Math.max(ratio, 1 / ratio) > maxPixelAspect) return null;
  return isOnItsSide ? { numerator: aspect.denominator, denominator: aspect.numerator } : aspect;
}

function named(text: string | undefined): string | null {
  return text === undefined || text === 'unknown' || text === 'reserved' ? null : text;
}

function fraction(text: string | undefined): Fraction | null {
  const [, numerator, denominator] = /^(\d+)\/(\d+)$/.exec(text ?? '') ?? [];
  const value = { numerator: Number(numerator ?? 0), denominator: Number(denominator ?? 0) };
  return value.numerator > 0 && value.denominator > 0 ? value : null;
}
