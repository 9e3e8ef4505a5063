import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tone, wavFile, type WavOptions } from './wav-file.js';

const run = promisify(execFile);

export interface ToneOptions extends WavOptions {
  /** Silence instead of a tone. */
  silent?: boolean;
}

/** A WAV file of a tone. */
export function toneWav(seconds: number, { silent = false, ...options }: ToneOptions = {}): Buffer {
  const audio = tone(seconds, options.rate);
  return wavFile(silent ? audio.fill(0) : audio, options);
}

/** Five seconds of a tone as ffmpeg writes them to `<folder>/<name>`; its ending names the container. */
export async function recordTone(folder: string, name: string, args: string[]): Promise<Buffer> {
  const path = join(folder, name);
  const audio = ['-f', 'lavfi', '-i', 'sine=frequency=300:duration=5'];
  await run('ffmpeg', ['-hide_banner', '-loglevel', 'error', '-y', ...audio, ...args, path]);
  return await readFile(path);
}

/** A recording as FLAC of a length: a WAV file, a number of times, then silence. */
export async function paddedRecording(
  folder: string,
  wav: Buffer,
  { seconds, times = 1 }: { seconds: number; times?: number },
): Promise<Buffer> {
  const [source, path] = [join(folder, 'start.wav'), join(folder, `${seconds}.flac`)];
  await writeFile(source, wav);
  const padding = ['-stream_loop', String(times - 1), '-i', source, '-af', `apad=whole_dur=${seconds}`];
  await run('ffmpeg', ['-hide_banner', '-loglevel', 'error', '-y', ...padding, path]);
  return await readFile(path);
}
