import type { MediaContainer } from './containers.js';

/** A file that a tool may open, and the only demuxer that may read it. */
export interface TaskFile {
  container: MediaContainer;
  path: string;
  /** Bytes in front of the container; default 0. */
  skipBytes?: number;
}

/** Writes the header's content to its output as JSON, in the form of ffprobe. */
export interface ProbeTask extends TaskFile {
  kind: 'probe';
}

/** Writes interleaved samples to its output: 32-bit floats. */
export interface DecodeAudioTask extends TaskFile {
  kind: 'decode-audio';
  sampleRate: number;
  /** Of the output, whatever the source has. */
  channels: 1 | 2;
  maxSeconds: number;
}

export type EncodedAudioFormat = 'mp3' | 'opus' | 'aac' | 'flac';

/** Reads interleaved 32-bit floats from its input and writes a file to its output. */
export interface EncodeAudioTask {
  kind: 'encode-audio';
  format: EncodedAudioFormat;
  sampleRate: number;
  channels: 1 | 2;
}

/** Writes frames to its output: 8-bit RGB. */
export interface ReadFramesTask extends TaskFile {
  kind: 'read-frames';
  width: number;
  height: number;
  /** Color matrix of the source; `auto`: as tagged. */
  colorMatrix: string;
  /** Frames are dropped or repeated to this rate; null: as in the source. */
  fps: number | null;
  maxSeconds: number;
}

/**
 * Writes the times of the last key frames at or before some times of the file's own clock to its output, as JSON in the
 * form of ffprobe. Decodes nothing.
 */
export interface FindKeyFramesTask extends TaskFile {
  kind: 'find-key-frames';
  seconds: readonly number[];
}

/** Writes a line per packet of the video to its output: its time and duration in seconds, or `N/A`. Decodes nothing. */
export interface ListPacketsTask extends TaskFile {
  kind: 'list-packets';
}

/** Writes the last key frame at or before a time from the start of the file: 8-bit RGB. Decodes nothing before it. */
export interface ReadKeyFrameTask extends TaskFile {
  kind: 'read-key-frame';
  seconds: number;
  width: number;
  height: number;
  /** As in `ReadFramesTask`. */
  colorMatrix: string;
}

/** Reads RGB frames from its input and writes an mp4 to a file. */
export interface WriteVideoTask {
  kind: 'write-video';
  path: string;
  width: number;
  height: number;
  fps: { numerator: number; denominator: number };
  /** Pixel aspect ratio. */
  pixelAspect: { numerator: number; denominator: number };
  crf: number;
  maxBytes: number;
  audio: TaskFile | null;
}

/** One run of a media tool. */
export type MediaTask =
  | ProbeTask
  | DecodeAudioTask
  | EncodeAudioTask
  | ReadFramesTask
  | FindKeyFramesTask
  | ListPacketsTask
  | ReadKeyFrameTask
  | WriteVideoTask;

/** Filters from a decoded frame to an output frame. Both tools run the same ones, so their pixels are the same. */
export function readingFilters(task: ReadFramesTask | ReadKeyFrameTask): string[] {
  const { width, height, colorMatrix } = task;
  const fps = task.kind === 'read-frames' ? task.fps : null;
  return [
    ...(fps === null ? [] : [`fps=${fps}`]),
    `scale=${width}:${height}:flags=bicubic:in_color_matrix=${colorMatrix}`,
    'format=rgb24',
  ];
}

/** Filters from an RGB frame to what the encoder gets: even sizes, BT.709. */
export function writingFilters({ pixelAspect: { numerator, denominator } }: WriteVideoTask): string[] {
  return [
    'crop=trunc(iw/2)*2:trunc(ih/2)*2',
    'scale=out_color_matrix=bt709:out_range=tv',
    'format=yuv420p',
    'setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709',
    `setsar=sar=${numerator}/${denominator}:max=65535`,
  ];
}
