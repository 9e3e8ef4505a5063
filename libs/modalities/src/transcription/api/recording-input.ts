import { PlatformError } from '#common';
import type { HttpExchange, MediaInputReader, MediaArtifacts } from '#gateway';
import { type MediaContainer, probeAudio, sniffContainer } from '#media';
import type { ArtifactRecord } from '#storage';
import { maxAudioSeconds, quotedSeconds } from '../contract/transcription.meter.js';
import { maxFileBytes } from '../contract/transcription.request.js';

/** Where a recording comes from. */
export type RecordingSource = { upload: Buffer } | { url: string };

/** A recording in the storage that is worth a job. */
export interface StoredRecording {
  artifactId: string;
  /** The most it can be charged for, in seconds. */
  quotedSeconds: number;
}

/** Containers that recordings may have: wav, flac, m4a, aac, mp4, mp3, ogg, webm. */
const recordings: readonly MediaContainer[] = ['wav', 'flac', 'mp4', 'aac', 'mp3', 'ogg', 'webm'];
/** Streams of frames: how long they are is guessed from the first ones. */
const guessed: readonly MediaContainer[] = ['mp3', 'aac'];

/** Kept for the deadline of the job and a little more, should no process be left to delete it. */
const lifetimeMs = 2_400_000;
const headBytes = 4_096;
/** A video is fetched by us, not sent: it may be larger than an upload. */
const maxVideoBytes = 200 * 1024 * 1024;
const timeoutMs = 120_000;

/**
 * Stores a recording once its header shows that it is one. Rejects with `INVALID_AUDIO_FORMAT` (400) for other formats,
 * `ASR_UPSTREAM_VALIDATION_FAILED` (422) for an empty or damaged recording, `PAYLOAD_TOO_LARGE` (413) for one of more
 * than four hours. It is deleted when the request ends.
 */
export async function readRecording(
  artifacts: MediaArtifacts,
  http: HttpExchange,
  source: RecordingSource,
): Promise<StoredRecording> {
  const reader = artifacts.inputsOf(http, lifetimeMs);
  if ('url' in source) {
    const limits = { maxBytes: maxVideoBytes, param: 'url', timeoutMs };
    return await measure(reader, await reader.file(source.url, { ...limits, dataUrls: false }), 'url');
  }
  containerOf(source.upload, 'file');
  return await measure(reader, await reader.store(source.upload, { maxBytes: maxFileBytes }), 'file');
}

async function measure(reader: MediaInputReader, recording: ArtifactRecord, param: string): Promise<StoredRecording> {
  const { id: artifactId, bytes } = recording;
  const container = containerOf(await reader.head(recording, headBytes), param);
  const limits = { maxSeconds: maxAudioSeconds, signal: reader.disconnected };
  const { durationSeconds } = await reader
    .withFile(artifactId, (path) => probeAudio(reader.tools, { path }, limits))
    .catch((error: unknown) => {
      if (!(error instanceof PlatformError) || error.code !== 'INVALID_AUDIO_FORMAT') throw error;
      throw invalid(error.message, param, error);
    });
  if (durationSeconds !== null && durationSeconds <= 0) throw invalid('The recording holds no sound.', param);
  const isExact = !guessed.includes(container);
  return { artifactId, quotedSeconds: quotedSeconds({ bytes, durationSeconds, isExact }) };
}

/** By the first bytes: names and content types can be wrong. */
function containerOf(head: Buffer, param: string): MediaContainer {
  if (head.length === 0) throw invalid('The recording is empty.', param);
  const container = sniffContainer(head);
  if (container !== null && recordings.includes(container)) return container;
  const known = 'wav, flac, m4a, aac, mp4, mp3, ogg, webm';
  throw new PlatformError('INVALID_AUDIO_FORMAT', `The recording must be one of: ${known}.`, param);
}

function invalid(message: string, param: string, cause?: unknown): PlatformError {
  return new PlatformError('ASR_UPSTREAM_VALIDATION_FAILED', message, param, { cause });
}
