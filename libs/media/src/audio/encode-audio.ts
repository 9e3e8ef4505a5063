import { encodeFailure } from '../tools/media-error.js';
import type { EncodedAudioFormat } from '../tools/media-task.js';
import type { MediaTools } from '../tools/media-tools.js';
import type { ToolProcess } from '../tools/tool-process.js';
import type { AudioFormat } from './audio-format.js';
import { toPcm16 } from './pcm.js';
import { writeWavHeader } from './wav-header.js';

export interface EncodeAudioOptions {
  format: AudioFormat;
  /** Sample rate per channel. */
  sampleRate: number;
  /** Channel count; samples of two channels are interleaved. Default 1. */
  channels?: 1 | 2;
  /** Samples per channel if known in advance; only the WAV header needs them. */
  samples?: number;
  signal?: AbortSignal;
  /** Time limit in ms. Default 30 minutes. */
  timeoutMs?: number;
}

/** Input samples in [-1, 1], in parts of any size. */
export type SampleSource = Iterable<Float32Array> | AsyncIterable<Float32Array>;

const defaultTimeoutMs = 1_800_000;

/**
 * Encodes audio as a stream. Output is yielded as soon as the encoder produces it, and samples are requested only when
 * the encoder accepts them. Rejects with `SERVICE_UNAVAILABLE` without ffmpeg, for formats that need it.
 */
export async function* encodeAudio(
  tools: MediaTools,
  samples: SampleSource,
  options: EncodeAudioOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { format, sampleRate, channels = 1, signal } = options;
  if (format !== 'wav' && format !== 'pcm') return yield* encodeWithTool(tools, samples, { ...options, format });
  if (format === 'wav') yield writeWavHeader({ sampleRate, channels, samples: options.samples ?? null });
  for await (const part of samples) {
    signal?.throwIfAborted();
    if (part.length > 0) yield toPcm16(part);
  }
}

/** Encodes everything into memory. */
export async function encodeWholeAudio(
  tools: MediaTools,
  samples: Float32Array,
  options: Omit<EncodeAudioOptions, 'samples'>,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  const whole = { ...options, samples: samples.length / (options.channels ?? 1) };
  for await (const part of encodeAudio(tools, [samples], whole)) parts.push(part);
  return Buffer.concat(parts);
}

type ToolOptions = EncodeAudioOptions & { format: EncodedAudioFormat };

async function* encodeWithTool(
  tools: MediaTools,
  samples: SampleSource,
  options: ToolOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { format, sampleRate, channels = 1, signal, timeoutMs = defaultTimeoutMs } = options;
  const engine = await tools.require();
  const tool = tools.start(engine, { kind: 'encode-audio', format, sampleRate, channels }, { signal, timeoutMs });
  const feeding = feed(tool, samples, signal);
  // Rejections are handled below; this prevents an unhandled rejection until then.
  feeding.catch(() => tool.kill());
  try {
    for await (const chunk of tool.output as AsyncIterable<Buffer>) yield chunk;
    await feeding;
    await tool.finished(signal);
  } catch (error) {
    throw encodeFailure(tools, error);
  } finally {
    await tool.dispose();
  }
}

async function feed(tool: ToolProcess, samples: SampleSource, signal: AbortSignal | undefined): Promise<void> {
  for await (const part of samples) {
    signal?.throwIfAborted();
    if (tool.hasEnded) return;
    if (part.length > 0) await tool.write(bytesOf(part));
  }
  tool.closeInput();
}

/** Copies, because the tool may still read the buffer when its owner overwrites it. */
function bytesOf(samples: Float32Array): Buffer {
  return Buffer.from(samples.buffer.slice(samples.byteOffset, samples.byteOffset + samples.byteLength));
}
