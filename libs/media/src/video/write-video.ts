import { stat } from 'node:fs/promises';
import { PlatformError } from '#common';
import { encodeFailure, invalidMedia } from '../tools/media-error.js';
import type { WriteVideoTask } from '../tools/media-task.js';
import { identifyMedia, lendFile, type MediaSource } from '../tools/media-source.js';
import type { MediaTools } from '../tools/media-tools.js';
import type { Fraction } from '../tools/probe-media.js';
import type { ToolProcess } from '../tools/tool-process.js';

export interface WriteVideoOptions {
  /** Size of every frame; odd sizes lose one row or column, because the format needs even ones. */
  width: number;
  height: number;
  /** Frames per second, exact: 30000/1001 for example. */
  fps: Fraction;
  /** Pixel aspect ratio (width over height). Default: square. */
  pixelAspect?: Fraction | null;
  /** Any file with an audio track: a recording, or the video that the frames came from. */
  audio?: MediaSource;
  /** Encoder quality (CRF), 0 (lossless) to 51. Default 18. */
  crf?: number;
  /** Maximum file size in bytes. More fails with `PAYLOAD_TOO_LARGE`. Default 2 GB. */
  maxBytes?: number;
  signal?: AbortSignal;
  /** Time limit in ms. Default one hour. */
  timeoutMs?: number;
}

/** Input frames: RGB rows from the top, `width * height * 3` bytes each. */
export type FrameSource = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

const defaultTimeoutMs = 3_600_000;
const defaultMaxBytes = 2_000_000_000;

/**
 * Writes frames as an mp4 (H.264, yuv420p in BT.709, AAC) that plays before it is completely loaded. The next frame is
 * requested when the encoder has accepted the last one. `path` is no valid video until this resolves. After a failure
 * the caller deletes it, preferably with its folder (`MediaTools.withFolder`). Returns the number of frames.
 */
export async function writeVideo(
  tools: MediaTools,
  path: string,
  frames: FrameSource,
  options: WriteVideoOptions,
): Promise<{ frames: number; bytes: number }> {
  const { audio, maxBytes = defaultMaxBytes, signal, timeoutMs = defaultTimeoutMs } = options;
  const engine = await tools.require();
  const { container = null, skipBytes = 0 } = audio === undefined ? {} : await identifyMedia(audio);
  if (audio !== undefined && container === null) throw invalidMedia('recording', 'is of an unknown format');
  const audioFile = audio === undefined ? null : await lendFile(tools, audio);
  const { width, height, fps, crf = 18, pixelAspect } = options;
  const task: WriteVideoTask = {
    kind: 'write-video',
    path,
    width,
    height,
    fps,
    pixelAspect: pixelAspect ?? { numerator: 1, denominator: 1 },
    crf,
    maxBytes,
    audio: audioFile === null || container === null ? null : { container, path: audioFile.path, skipBytes },
  };
  const tool = tools.start(engine, task, { signal, timeoutMs });
  try {
    tool.output.resume();
    const count = await feed(tool, frames, options);
    await tool.finished(signal);
    const { size } = await stat(path);
    if (size >= maxBytes) throw new PlatformError('PAYLOAD_TOO_LARGE', `The video is larger than ${maxBytes} bytes.`);
    return { frames: count, bytes: size };
  } catch (error) {
    throw encodeFailure(tools, error);
  } finally {
    await tool.dispose();
    await audioFile?.release();
  }
}

async function feed(
  tool: ToolProcess,
  frames: FrameSource,
  { width, height, signal }: WriteVideoOptions,
): Promise<number> {
  let count = 0;
  for await (const frame of frames) {
    signal?.throwIfAborted();
    if (tool.hasEnded) break;
    if (frame.length !== width * height * 3) throw new RangeError('A frame must have the size of the video.');
    await tool.write(frame);
    count += 1;
  }
  tool.closeInput();
  return count;
}
