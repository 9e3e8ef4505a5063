import { decodeFailure, invalidMedia, tooLong } from '../tools/media-error.js';
import { lendFile, type MediaSource } from '../tools/media-source.js';
import type { MediaTools } from '../tools/media-tools.js';
import type { Fraction, MediaProbe } from '../tools/probe-media.js';
import type { ToolProcess } from '../tools/tool-process.js';

/** Length and rate of a video track, by the times of its packets. */
export interface MeasuredVideo {
  /** From the start of the file. */
  durationSeconds: number;
  /** Mean frame rate; null for a single frame. */
  fps: Fraction | null;
}

export interface MeasureOptions {
  maxSeconds: number;
  maxFps: number;
  signal?: AbortSignal;
}

/** A file is read to its end, but nothing is decoded. */
const timeoutMs = 60_000;
/** A line is two numbers. */
const maxLineBytes = 256;

/**
 * Measures a video whose header states no duration, as browsers record them. Throws `VIDEO_DURATION_TOO_LONG` as soon as
 * a packet is beyond `maxSeconds`, and `INVALID_VIDEO_FORMAT` for more frames than `maxFps` allows or a damaged file.
 */
export async function measureVideo(
  tools: MediaTools,
  source: MediaSource,
  { container, startSeconds }: Pick<MediaProbe, 'container' | 'startSeconds'>,
  { maxSeconds, maxFps, signal }: MeasureOptions,
): Promise<MeasuredVideo> {
  const engine = await tools.require();
  const file = await lendFile(tools, source);
  const task = { kind: 'list-packets', container, path: file.path } as const;
  const tool = tools.start(engine, task, { timeoutMs, signal });
  const times = new PacketTimes(startSeconds);
  try {
    for await (const line of linesOf(tool)) {
      times.add(line);
      if (times.endSeconds > maxSeconds) throw tooLong('video', maxSeconds);
      if (times.packets > maxSeconds * maxFps) throw tooFast(maxFps);
    }
    await tool.finished(signal);
    if (times.endSeconds <= 0) throw invalidMedia('video', 'states neither its duration nor the times of its frames');
    return { durationSeconds: times.endSeconds, fps: times.rate };
  } catch (error) {
    throw decodeFailure(tools, 'video', error);
  } finally {
    await tool.dispose();
    await file.release();
  }
}

/** The error of a video with too many frames a second. */
export function tooFast(maxFps: number): Error {
  return invalidMedia('video', `must have up to ${maxFps} frames a second`);
}

class PacketTimes {
  packets = 0;
  private first = Number.POSITIVE_INFINITY;
  private last = Number.NEGATIVE_INFINITY;
  private lastDuration = 0;

  constructor(private readonly startSeconds: number) {}

  /** End of the last frame; 0 before one is known. A frame without a duration lasts as long as the mean one. */
  get endSeconds(): number {
    if (this.packets === 0) return 0;
    return this.last + (this.lastDuration > 0 ? this.lastDuration : this.interval);
  }

  get rate(): Fraction | null {
    if (this.interval === 0) return null;
    const rate = 1 / this.interval;
    // Times are rounded to milliseconds, and so is a whole rate.
    const isWhole = Math.abs(rate - Math.round(rate)) < 0.02;
    return isWhole
      ? { numerator: Math.round(rate), denominator: 1 }
      : { numerator: Math.max(1, Math.round(rate * 1_000)), denominator: 1_000 };
  }

  /** Adds a line such as `0.033,0.033`; either number may be `N/A`. */
  add(line: string): void {
    const [time, duration] = line.split(',', 2).map(Number);
    if (time === undefined || !Number.isFinite(time)) return;
    const seconds = Math.max(0, time - this.startSeconds);
    this.packets += 1;
    this.first = Math.min(this.first, seconds);
    if (seconds < this.last) return;
    this.last = seconds;
    this.lastDuration = duration !== undefined && Number.isFinite(duration) ? duration : 0;
  }

  private get interval(): number {
    return this.packets < 2 ? 0 : (this.last - this.first) / (this.packets - 1);
  }
}

async function* linesOf(tool: ToolProcess): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of tool.output as AsyncIterable<Buffer>) {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = (lines.pop() ?? '').slice(0, maxLineBytes);
    yield* lines;
  }
  if (rest !== '') yield rest;
}
