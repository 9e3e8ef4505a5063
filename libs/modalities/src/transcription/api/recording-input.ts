import { PlatformError } from '#common';
import type { MediaInputReader, MediaArtifacts, ModelRequest } from '#gateway';
import { identifyMedia, type MediaContainer, probeAudio } from '#media';
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

/** Inputs expire a while after the job's deadline in case no process deletes them. */
export const lifetimeMs = 2_400_000;
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
  requireRecording(source.upload.length, { ...(await identifyMedia(source.upload)), param: 'file' });
  return await measure(reader, await reader.store(source.upload, { maxBytes: maxFileBytes }), 'file');
}

async function measure(reader: MediaInputReader, recording: ArtifactRecord, param: string): Promise<StoredRecording> {
  const { id: artifactId, bytes } = recording;
  const limits = { maxSeconds: maxAudioSeconds, signal: reader.disconnected };
  const durationSeconds = await reader.withFile(artifactId, async (path) => {
    requireRecording(bytes, { ...(await identifyMedia({ path })), param });
    const probed = await probeAudio(reader.tools, { path }, limits).catch((error: unknown) => {
      if (!(error instanceof PlatformError) || error.code !== 'INVALID_AUDIO_FORMAT') throw error;
      throw invalid(error.message, param, error);
    });
    return probed.durationSeconds;
  });
  if (durationSeconds !== null && durationSeconds <= 0) throw invalid('The recording contains no audio.', param);
  return { artifactId, quotedSeconds: quotedSeconds({ bytes, durationSeconds }) };
}

/** The container is detected from the bytes: names and content types can be wrong. */
function requireRecording(
  bytes: number,
  { container, param }: { container: MediaContainer | null; param: string },
): void {
  if (bytes === 0) throw invalid('The recording is empty.', param);
  if (container !== null && recordings.includes(container)) return;
  const known = 'wav, flac, m4a, aac, mp4, mp3, ogg, webm';
  throw new PlatformError('INVALID_AUDIO_FORMAT', `The recording must be one of: ${known}.`, param);
}

function invalid(message: string, param: string, cause?: unknown): PlatformError {
  return new PlatformError('ASR_UPSTREAM_VALIDATION_FAILED', message, param, { cause });
}
