import { createReadStream } from 'node:fs';
import { decodeFailure, invalidMedia, tooLong } from '../tools/media-error.js';
import { identifyMedia, lendFile, type MediaSource } from '../tools/media-source.js';
import type { MediaTools } from '../tools/media-tools.js';
import { probeMedia } from '../tools/probe-media.js';
import { ChannelMixer } from './channel-mixer.js';
import { countFrames } from './count-frames.js';
import { fromPcm } from './pcm.js';
import { Resampler } from './resampler.js';
import { readWavHeader, wavSeconds, type WavLayout } from './wav-header.js';

export interface DecodeAudioOptions {
  /** Sample rate of the output. */
  sampleRate: number;
  /** Longer recordings are rejected, by the header if possible. */
  maxSeconds: number;
  signal?: AbortSignal;
  /** Time limit in ms. Default 10 minutes. */
  timeoutMs?: number;
}

/** Content of a recording's header. */
export interface AudioProbe {
  /** Null if the header does not say. */
  durationSeconds: number | null;
  sampleRate: number;
  channels: number;
}

const defaultTimeoutMs = 600_000;

/**
 * Reads length and layout from the header; WAV needs no ffmpeg. Throws `INVALID_AUDIO_FORMAT` (also for a file without
 * audio), `PAYLOAD_TOO_LARGE` beyond `maxSeconds`, `SERVICE_UNAVAILABLE` without ffmpeg.
 */
export async function probeAudio(
  tools: MediaTools,
  source: MediaSource,
  { maxSeconds, signal }: { maxSeconds: number; signal?: AbortSignal },
): Promise<AudioProbe> {
  const probe = (await wavLayout(source)) ?? (await probeContainer(tools, source, signal));
  if (probe.durationSeconds !== null && probe.durationSeconds > maxSeconds) throw tooLong('recording', maxSeconds);
  return { durationSeconds: probe.durationSeconds, sampleRate: probe.sampleRate, channels: probe.channels };
}

async function probeContainer(tools: MediaTools, source: MediaSource, signal?: AbortSignal): Promise<AudioProbe> {
  const { audio, durationSeconds } = await probeMedia(tools, source, { noun: 'recording', signal });
  if (audio === null) throw invalidMedia('recording', 'contains no audio');
  const { sampleRate, channels } = audio;
  // ffmpeg only estimates the length of such streams, from the rate of their first frames.
  const counted = await countFrames(source, signal);
  return { durationSeconds: counted ?? durationSeconds, sampleRate, channels };
}

/** A WAV file that is decoded without ffmpeg. */
interface ReadableWav extends WavLayout {
  durationSeconds: number;
}

/** Returns null for other files. */
async function wavLayout(source: MediaSource): Promise<ReadableWav | null> {
  const { container, skipBytes, head, totalBytes } = await identifyMedia(source);
  if (totalBytes === 0) throw invalidMedia('recording', 'is empty');
  if (container === null) throw invalidMedia('recording', 'is of an unknown format');
  if (container !== 'wav') return null;
  const layout = readWavHeader(head, totalBytes - skipBytes);
  if (layout === null) return null;
  return { ...layout, dataOffset: layout.dataOffset + skipBytes, durationSeconds: wavSeconds(layout) };
}

/**
 * Yields mono samples in [-1, 1] at the requested rate, mixed by `ChannelMixer`, in parts of about a second at most.
 * The next part is decoded on demand. Fails like `probeAudio`, and with `INVALID_AUDIO_FORMAT` if the audio is damaged.
 */
export async function* decodeAudio(
  tools: MediaTools,
  source: MediaSource,
  options: DecodeAudioOptions,
): AsyncGenerator<Float32Array, void, undefined> {
  const { maxSeconds, sampleRate, signal } = options;
  const layout = await wavLayout(source);
  const { durationSeconds, channels } = layout ?? (await probeContainer(tools, source, signal));
  if (durationSeconds !== null && durationSeconds > maxSeconds) throw tooLong('recording', maxSeconds);
  const parts = layout ? decodeWav(source, layout, options) : decodeWithTool(tools, source, { ...options, channels });
  const max = Math.ceil(maxSeconds * sampleRate);
  let samples = 0;
  for await (const part of parts) {
    signal?.throwIfAborted();
    samples += part.length;
    // Some headers contain no length, and some are wrong.
    if (samples > max) throw tooLong('recording', maxSeconds);
    if (part.length > 0) yield part;
  }
  if (samples === 0) throw invalidMedia('recording', 'contains no audio');
}

/** Sample rate for decoding audio whose header does not contain its length. */
const countingRate = 8_000;

/** Returns the length in seconds, by the header or else by decoding everything. Fails like `decodeAudio`. */
export async function measureAudio(
  tools: MediaTools,
  source: MediaSource,
  limits: { maxSeconds: number; signal?: AbortSignal },
): Promise<number> {
  const { durationSeconds } = await probeAudio(tools, source, limits);
  if (durationSeconds !== null) return durationSeconds;
  let samples = 0;
  for await (const part of decodeAudio(tools, source, { sampleRate: countingRate, ...limits })) samples += part.length;
  return samples / countingRate;
}

/** Decodes everything into memory: 4 bytes per sample, so `maxSeconds` bounds it. */
export async function decodeWholeAudio(
  tools: MediaTools,
  source: MediaSource,
  options: DecodeAudioOptions,
): Promise<Float32Array> {
  const parts: Float32Array[] = [];
  let length = 0;
  for await (const part of decodeAudio(tools, source, options)) {
    parts.push(part);
    length += part.length;
  }
  const whole = new Float32Array(length);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

async function* decodeWav(
  source: MediaSource,
  layout: WavLayout,
  { sampleRate }: DecodeAudioOptions,
): AsyncGenerator<Float32Array> {
  const mixer = new ChannelMixer(layout);
  const resampler = new Resampler({ from: layout.sampleRate, to: sampleRate });
  for await (const frames of wavFrames(source, layout)) yield resampler.push(mixer.push(fromPcm(frames, layout)));
  yield resampler.push(mixer.flush());
  yield resampler.flush();
}

/** Bounds what is held of recordings with high rates and many channels. */
const maxPartFrames = 48_000;

/** Yields whole frames of a WAV file, one second at most at a time; an incomplete last frame is dropped. */
async function* wavFrames(source: MediaSource, layout: WavLayout): AsyncGenerator<Buffer> {
  const frameBytes = layout.channels * (layout.bitsPerSample / 8);
  const partBytes = frameBytes * Math.min(layout.sampleRate, maxPartFrames);
  const { dataOffset, dataBytes } = layout;
  const end = dataOffset + dataBytes;
  if (source instanceof Uint8Array) {
    const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
    for (let offset = dataOffset; offset + frameBytes <= end; offset += partBytes) {
      const part = bytes.subarray(offset, Math.min(end, offset + partBytes));
      yield part.subarray(0, part.length - (part.length % frameBytes));
    }
    return;
  }
  if (dataBytes === 0) return;
  const range = { start: dataOffset, end: end - 1, highWaterMark: partBytes };
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(source.path, range) as AsyncIterable<Buffer>) {
    const joined = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = joined.length - (joined.length % frameBytes);
    rest = joined.subarray(whole);
    yield joined.subarray(0, whole);
  }
}

async function* decodeWithTool(
  tools: MediaTools,
  source: MediaSource,
  options: DecodeAudioOptions & { channels: number },
): AsyncGenerator<Float32Array> {
  const { sampleRate, maxSeconds, signal, timeoutMs = defaultTimeoutMs } = options;
  // More than two channels become two there: each side by its own weights.
  const channels = options.channels > 1 ? 2 : 1;
  const mixer = new ChannelMixer({ channels, sampleRate });
  const engine = await tools.require();
  const { container, skipBytes } = await identifyMedia(source);
  if (container === null) throw invalidMedia('recording', 'is of an unknown format');
  const file = await lendFile(tools, source);
  // One second more than allowed shows that there is more.
  const task = { container, path: file.path, skipBytes, sampleRate, channels, maxSeconds: maxSeconds + 1 } as const;
  const tool = tools.start(engine, { kind: 'decode-audio', ...task }, { signal, timeoutMs });
  try {
    const frames = framesOf(tool.output as AsyncIterable<Buffer>, channels);
    for await (const part of frames) yield mixer.push(part);
    await tool.finished(signal);
    yield mixer.flush();
  } catch (error) {
    throw decodeFailure(tools, 'recording', error);
  } finally {
    await tool.dispose();
    await file.release();
  }
}

/** Yields whole frames of little-endian floats from a byte stream with arbitrary chunk borders. */
async function* framesOf(chunks: AsyncIterable<Buffer>, channels: number): AsyncGenerator<Float32Array> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const joined = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = joined.length - (joined.length % (4 * channels));
    rest = joined.subarray(whole);
    // Copies, because chunks start anywhere in a shared buffer and floats need a multiple of four.
    const floats = new Float32Array(whole / 4);
    Buffer.from(floats.buffer).set(joined.subarray(0, whole));
    yield floats;
  }
}
