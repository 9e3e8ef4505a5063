import { sniffContainer } from '../tools/containers.js';
import { decodeFailure } from '../tools/media-error.js';
import type { MediaTask } from '../tools/media-task.js';
import { headOf, lendFile, type MediaSource } from '../tools/media-source.js';
import type { MediaTools } from '../tools/media-tools.js';
import { ToolFailure } from '../tools/tool-process.js';
import { matrixOf, type VideoProbe } from './read-frames.js';

export interface ReadKeyFramesOptions {
  /** As `probeVideo` returned it. */
  probe: VideoProbe;
  /** Wanted times from the start of the video, ascending. */
  seconds: readonly number[];
  /** Size of the output frames. */
  width: number;
  height: number;
  signal?: AbortSignal;
  /** Time limit of all frames together, in ms. */
  timeoutMs: number;
}

/** A frame at its own time: 8-bit RGB, rows from the top. */
export interface KeyFrame {
  seconds: number;
  width: number;
  height: number;
  data: Uint8Array;
}

/** Containers with an index of key frames. Seeks in the others end between key frames. */
const indexed = new Set(['mp4', 'webm']);

/**
 * Some demuxers seek to a time up to 3/23 s before the one asked for, because of frames that are shown in another order
 * than stored. A target a little behind a key frame therefore finds it.
 */
const seekMarginSeconds = 0.14;

/**
 * Returns the last key frame at or before each time, each once, with seeks: nothing between them is decoded. Returns
 * none for a container without an index, and leaves out key frames that are damaged.
 */
export async function readKeyFrames(
  tools: MediaTools,
  source: MediaSource,
  options: ReadKeyFramesOptions,
): Promise<KeyFrame[]> {
  const container = sniffContainer((await headOf(source)).head);
  if (container === null || !indexed.has(container)) return [];
  const file = await lendFile(tools, source);
  const { width, height, seconds: wanted, probe, signal, timeoutMs } = options;
  const deadlineMs = performance.now() + timeoutMs;
  const ordered = { container, path: file.path };
  const run = (task: MediaTask): Promise<Buffer> =>
    runTool(tools, task, { signal, timeoutMs: Math.max(1, deadlineMs - performance.now()) });
  try {
    const seconds = wanted.map((time) => time + probe.startSeconds);
    const report = await run({ kind: 'find-key-frames', ...ordered, seconds });
    const frames: KeyFrame[] = [];
    for (const time of keyTimesIn(report, probe.startSeconds)) {
      const view = { width, height, colorMatrix: matrixOf(probe), seconds: time + seekMarginSeconds };
      const data = await run({ kind: 'read-key-frame', ...ordered, ...view });
      if (data.length === width * height * 3) frames.push({ seconds: time, width, height, data });
    }
    return frames;
  } catch (error) {
    throw decodeFailure(tools, 'video', error);
  } finally {
    await file.release();
  }
}

/** Returns the times of key frames from the start of the video, ascending, each once. */
function keyTimesIn(report: Buffer, startSeconds: number): number[] {
  if (report.length === 0) return [];
  const { packets = [] } = JSON.parse(report.toString('utf8')) as { packets?: { pts_time?: string; flags?: string }[] };
  const keys = packets.filter(({ flags = '' }) => flags.startsWith('K'));
  const times = keys.map(({ pts_time: time }) => Math.max(0, Number(time ?? Number.NaN) - startSeconds));
  return [...new Set(times.filter(Number.isFinite))].toSorted((left, right) => left - right);
}

/** Returns what a tool writes; nothing if it refuses its input. Rejects with other failures. */
async function runTool(
  tools: MediaTools,
  task: MediaTask,
  { signal, timeoutMs }: { signal: AbortSignal | undefined; timeoutMs: number },
): Promise<Buffer> {
  const tool = tools.start(await tools.require(), task, { signal, timeoutMs });
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of tool.output as AsyncIterable<Buffer>) chunks.push(chunk);
    await tool.finished(signal);
    return Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof ToolFailure && error.end === 'refused') return Buffer.alloc(0);
    throw error;
  } finally {
    await tool.dispose();
  }
}
