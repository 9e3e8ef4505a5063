import { PlatformError } from '#common';
import { type AudioProbe, type MediaContainer, type MediaTools, probeAudio, sniffContainer } from '#media';
import { type ArtifactContent, type ArtifactRecord, type ArtifactStore, discard } from '#storage';
import { maxAudioSeconds, quotedSeconds } from '../contract/transcription.meter.js';

/** A recording in the storage that is worth a job. */
export interface TakenRecording {
  artifactId: string;
  /** The most it can be charged for, in seconds. */
  quotedSeconds: number;
}

/** Containers of the contract (6.2): wav, flac, m4a, aac, mp4, mp3, ogg, webm. */
const recordings: readonly MediaContainer[] = ['wav', 'flac', 'mp4', 'aac', 'mp3', 'ogg', 'webm'];
/** Streams of frames: how long they are is guessed from the first ones. */
const guessed: readonly MediaContainer[] = ['mp3', 'aac'];

/** Kept for the deadline of the job and a little more, should nobody be left to delete it. */
const lifetimeMs = 2_400_000;
const headBytes = 4_096;

/** Puts recordings where the worker finds them, once their header shows that they are some. */
export class RecordingInputReader {
  constructor(
    private readonly parts: { artifacts: ArtifactStore; media: MediaTools },
    private readonly param: string,
  ) {}

  /**
   * Rejects with `INVALID_AUDIO_FORMAT` (400) for other formats, `ASR_UPSTREAM_VALIDATION_FAILED` (422) for an empty or
   * damaged recording, `PAYLOAD_TOO_LARGE` (413) for one of more than four hours. Whoever takes one in deletes it.
   */
  async take(
    content: ArtifactContent,
    { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
  ): Promise<TakenRecording> {
    if (content instanceof Uint8Array)
      this.containerOf(Buffer.from(content.buffer, content.byteOffset, content.length));
    const { artifacts } = this.parts;
    const options = { kind: 'input', contentType: 'application/octet-stream', lifetimeMs, maxBytes, signal } as const;
    const record = await artifacts.put(content, options);
    try {
      return { artifactId: record.id, quotedSeconds: await this.secondsOf(record, signal) };
    } catch (error) {
      await discard(artifacts, [record.id]);
      throw error;
    }
  }

  private async secondsOf({ id, bytes }: ArtifactRecord, signal: AbortSignal): Promise<number> {
    const { artifacts, media } = this.parts;
    const { bytes: head } = await this.headOf(id, bytes);
    const container = this.containerOf(head);
    const probe = await artifacts.withFile(id, (path) => this.probe(media, path, signal));
    const { durationSeconds } = probe;
    if (durationSeconds !== null && durationSeconds <= 0) throw this.invalid('The recording holds no sound.');
    return quotedSeconds({ bytes, durationSeconds, isExact: !guessed.includes(container) });
  }

  private async headOf(id: string, bytes: number): Promise<{ bytes: Buffer }> {
    if (bytes === 0) throw this.invalid('The recording is empty.');
    const { stream } = await this.parts.artifacts.open(id, { first: 0, last: Math.min(headBytes, bytes) - 1 });
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part as Buffer);
    return { bytes: Buffer.concat(parts) };
  }

  /** By the first bytes: names and content types lie. */
  private containerOf(head: Buffer): MediaContainer {
    if (head.length === 0) throw this.invalid('The recording is empty.');
    const container = sniffContainer(head);
    if (container !== null && recordings.includes(container)) return container;
    const known = 'wav, flac, m4a, aac, mp4, mp3, ogg, webm';
    throw new PlatformError('INVALID_AUDIO_FORMAT', `The recording must be one of: ${known}.`, this.param);
  }

  private async probe(media: MediaTools, path: string, signal: AbortSignal): Promise<AudioProbe> {
    try {
      return await probeAudio(media, { path }, { maxSeconds: maxAudioSeconds, signal });
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'INVALID_AUDIO_FORMAT') throw error;
      throw this.invalid(error.message, error);
    }
  }

  private invalid(message: string, cause?: unknown): PlatformError {
    return new PlatformError('ASR_UPSTREAM_VALIDATION_FAILED', message, this.param, { cause });
  }
}
