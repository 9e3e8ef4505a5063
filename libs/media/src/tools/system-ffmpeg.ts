import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toolEnvironment } from '#platform/config';
import type { Command } from '#platform/sandbox';
import { demuxers } from './containers.js';
import type { MediaEngine } from './media-engine.js';
import {
  type DecodeAudioTask,
  type EncodeAudioTask,
  type EncodedAudioFormat,
  type FindKeyFramesTask,
  type ListPacketsTask,
  type MediaTask,
  type TaskFile,
  type ProbeTask,
  readingFilters,
  type ReadFramesTask,
  type ReadKeyFrameTask,
  type WriteVideoTask,
  writingFilters,
} from './media-task.js';

const run = promisify(execFile);
const lookTimeoutMs = 20_000;

/** ffmpeg and ffprobe as installed on the machine (Debian package `ffmpeg`). */
export class SystemFfmpeg implements MediaEngine {
  readonly name: string;

  private constructor(
    private readonly ffmpeg: string,
    private readonly ffprobe: string,
    readonly version: string,
  ) {
    this.name = ffmpeg;
  }

  /** `ffmpeg`: a name on the PATH or a path; ffprobe is expected beside it. Rejects if one of them does not run. */
  static async find(ffmpeg: string): Promise<SystemFfmpeg> {
    const ffprobe = ffmpeg.replace(/ffmpeg([^/]*)$/, 'ffprobe$1');
    const options = { timeout: lookTimeoutMs, env: toolEnvironment() };
    const [{ stdout }] = await Promise.all([run(ffmpeg, ['-version'], options), run(ffprobe, ['-version'], options)]);
    return new SystemFfmpeg(ffmpeg, ffprobe, /version (\S+)/.exec(stdout)?.[1] ?? 'unknown');
  }

  command(task: MediaTask): Command {
    if (task.kind === 'probe') return { program: this.ffprobe, args: probeArgs(task) };
    if (task.kind === 'find-key-frames') return { program: this.ffprobe, args: findKeyFramesArgs(task) };
    if (task.kind === 'list-packets') return { program: this.ffprobe, args: listPacketsArgs(task) };
    return { program: this.ffmpeg, args: [...quietly, ...ffmpegArgs(task)] };
  }
}

/** First arguments of every run. */
const quietly = ['-hide_banner', '-loglevel', 'error', '-max_alloc', '536870912'] as const;

/** Returns arguments that open a file only in its container: no other protocol, no other file. */
function inputArgs({ container, path, skipBytes = 0 }: TaskFile): string[] {
  const skipped = skipBytes === 0 ? [] : ['-skip_initial_bytes', String(skipBytes)];
  return ['-protocol_whitelist', 'file', ...skipped, '-f', demuxers[container], '-i', `file:${path}`];
}

function ffmpegArgs(task: Exclude<MediaTask, ProbeTask | FindKeyFramesTask | ListPacketsTask>): string[] {
  switch (task.kind) {
    case 'decode-audio':
      return decodeAudioArgs(task);
    case 'encode-audio':
      return encodeAudioArgs(task);
    case 'read-frames':
      return readFramesArgs(task);
    case 'read-key-frame':
      return readKeyFrameArgs(task);
    case 'write-video':
      return writeVideoArgs(task);
  }
}

const reported = [
  '-show_entries',
  'format=duration,start_time:stream=codec_type,codec_name,sample_rate,channels,width,height,avg_frame_rate,r_frame_rate,nb_frames,duration,start_time,' +
    'sample_aspect_ratio,color_space,color_transfer:stream_disposition=attached_pic:stream_tags=rotate:stream_side_data=rotation',
  '-of',
  'json',
];

function probeArgs(task: ProbeTask): string[] {
  return ['-hide_banner', '-loglevel', 'error', ...inputArgs(task), ...reported];
}

function findKeyFramesArgs(task: FindKeyFramesTask): string[] {
  // One packet behind each seek, which ends at a key frame.
  const intervals = task.seconds.map((seconds) => `${seconds}%+#1`).join(',');
  const shown = ['-select_streams', 'V:0', '-read_intervals', intervals, '-show_entries', 'packet=pts_time,flags'];
  return ['-hide_banner', '-loglevel', 'error', ...inputArgs(task), ...shown, '-of', 'json'];
}

function listPacketsArgs(task: ListPacketsTask): string[] {
  const shown = ['-select_streams', 'V:0', '-show_entries', 'packet=pts_time,duration_time', '-of', 'csv=p=0'];
  return ['-hide_banner', '-loglevel', 'error', ...inputArgs(task), ...shown];
}

function decodeAudioArgs(task: DecodeAudioTask): string[] {
  const { sampleRate, channels, maxSeconds } = task;
  const form = ['-ac', String(channels), '-ar', String(sampleRate), '-c:a', 'pcm_f32le', '-f', 'f32le'];
  return ['-nostdin', ...inputArgs(task), '-t', String(maxSeconds), '-map', '0:a:0', ...form, 'pipe:1'];
}

/** ffmpeg encoder and container of each format, for audio written to a pipe. */
const encoderArgs: Readonly<Record<EncodedAudioFormat, readonly string[]>> = {
  // Without the header that would need a correction at the end, which a pipe does not allow.
  mp3: ['-c:a', 'libmp3lame', '-b:a', '128k', '-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'],
  opus: ['-c:a', 'libopus', '-b:a', '64k', '-ar', '48000', '-page_duration', '20000', '-f', 'ogg'],
  aac: ['-c:a', 'aac', '-b:a', '128k', '-f', 'adts'],
  flac: ['-c:a', 'flac', '-sample_fmt', 's16', '-f', 'flac'],
};

function encodeAudioArgs({ format, sampleRate, channels }: EncodeAudioTask): string[] {
  const input = ['-f', 'f32le', '-ar', String(sampleRate), '-ac', String(channels), '-i', 'pipe:0'];
  const output = [...encoderArgs[format], '-flush_packets', '1', 'pipe:1'];
  return ['-probesize', '32', '-analyzeduration', '0', ...input, '-map_metadata', '-1', ...output];
}

const rawVideo = ['-f', 'rawvideo', '-pix_fmt', 'rgb24'];

function readFramesArgs(task: ReadFramesTask): string[] {
  const mode = task.fps === null ? 'passthrough' : 'cfr';
  const output = ['-map', '0:V:0', '-vf', readingFilters(task).join(','), '-fps_mode', mode, ...rawVideo, 'pipe:1'];
  return ['-nostdin', ...inputArgs(task), '-t', String(task.maxSeconds), ...output];
}

function readKeyFrameArgs(task: ReadKeyFrameTask): string[] {
  const seek = ['-skip_frame', 'nokey', '-noaccurate_seek', '-ss', String(task.seconds)];
  const output = ['-map', '0:V:0', '-vf', readingFilters(task).join(','), '-frames:v', '1'];
  return ['-nostdin', ...seek, ...inputArgs(task), ...output, '-fps_mode', 'passthrough', ...rawVideo, 'pipe:1'];
}

/** States the colors explicitly, because players otherwise guess differently and colors shift. */
const bt709 = ['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv'];

function writeVideoArgs(task: WriteVideoTask): string[] {
  const { width, height, fps, crf, maxBytes, path, audio: source } = task;
  const rate = `${fps.numerator}/${fps.denominator}`;
  const frames = [...rawVideo, '-s', `${width}x${height}`, '-framerate', rate, '-i', 'pipe:0'];
  // The video ends with its frames: longer audio is cut, shorter audio is padded with silence.
  const audio = ['-map', '1:a:0?', '-c:a', 'aac', '-b:a', '160k', '-af', 'apad', '-shortest'];
  const filters = writingFilters(task).join(',');
  const image = ['-map', '0:v:0', '-vf', filters, ...bt709, '-c:v', 'libx264', '-preset', 'veryfast'];
  const form = ['-crf', String(crf), '-pix_fmt', 'yuv420p', '-movflags', '+faststart', '-map_metadata', '-1'];
  const sound = source === null ? { input: [], output: [] } : { input: inputArgs(source), output: audio };
  const output = [...image, ...form, ...sound.output, '-fs', String(maxBytes), '-f', 'mp4', '-y', `file:${path}`];
  return [...frames, ...sound.input, ...output];
}
