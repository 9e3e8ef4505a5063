import { PlatformError } from '#common';
import type { MediaInputReader, MediaArtifacts, ModelRequest } from '#gateway';
import { type MediaContainer, probeAudio, sniffContainer } from '#media';
import type { ArtifactRecord } from '#storage';
import { maxAudioSeconds, quotedSeconds } from '../contract/transcription.meter.js';
import { maxFileBytes } from '../contract/transcription.request.js';

/** Source of a recording. */
export type RecordingSource = { upload: Buffer } | { url: string };

/** A stored and checked recording. */
export interface StoredRecording {
  artifactId: string;
  /** Maximum seconds that it can be charged for. */
  quotedSeconds: number;
}

/** Containers of recordings: wav, flac, m4a, aac, mp4, mp3, ogg, webm. */
const recordings: readonly MediaContainer[] = ['wav', 'flac', 'mp4', 'aac', 'mp3', 'ogg', 'webm'];
/** Frame streams, whose length is estimated from the first frames. */
export const frameStreams: readonly MediaContainer[] = ['mp3', 'aac'];

/** Inputs expire a while after the job's deadline in case no process deletes them. */
export const lifetimeMs = 2_400_000;
export const headBytes = 4_096;
/** The service fetches a video itself, so it may be larger than an upload. */
export const maxVideoBytes = 200 * 1024 * 1024;
export const timeoutMs = 120_000;

/**
 * Stores a recording once its header is valid. Rejects with `INVALID_AUDIO_FORMAT` (400) for other formats,
 * `ASR_UPSTREAM_VALIDATION_FAILED` (422) for an empty or damaged recording, `PAYLOAD_TOO_LARGE` (413) for one of more
 * than four hours. The recording is deleted when the request ends.
 */
export async function readRecording(
  artifacts: MediaArtifacts,
  { http, manifest }: ModelRequest,
  source: RecordingSource,
): Promise<StoredRecording> {
  const reader = artifacts.inputsOf(http, manifest.id, lifetimeMs);
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
  if (durationSeconds !== null && durationSeconds <= 0) throw invalid('The recording contains no audio.', param);
  const isExact = !frameStreams.includes(container);
  return { artifactId, quotedSeconds: quotedSeconds({ bytes, durationSeconds, isExact }) };
}

/** Detects the container from the first bytes: names and content types can be wrong. */
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
