import type { MediaContainer } from '#media';
import type { ArtifactRecord } from '#storage';
import type { ModelRequest } from '../pipeline/model-request.js';
import type { InputWork } from './input-work.js';

/** Audio in a request: the bytes of a recording, or a stored video. */
export interface RecordingInput {
  source: { bytes: Buffer } | { stored: ArtifactRecord };
  /** Containers that it may have. */
  containers: readonly MediaContainer[];
  /** A video without a sound track counts as silent; a recording without one is refused. */
  kind: 'recording' | 'video';
  /** Field to name in errors. */
  param: string;
  /** The maximum length, in seconds; longer audio is refused. */
  maxSeconds: number;
  /** Ms from the start of the job. */
  deadlineMs: number;
}

/** The transcription of a stored and checked recording; its result is empty if nobody speaks. */
export interface InputTranscription extends InputWork<string> {
  /** Maximum seconds that are charged. */
  seconds: number;
}

/**
 * Transcribes recordings that requests for other models hold. Abstract, because the slice that uses it may not depend on
 * the transcription slice.
 */
export abstract class InputTranscriber {
  /**
   * Stores and measures a recording. `model` comes from `RequestPipeline.openInput`. Rejects with
   * `INVALID_AUDIO_FORMAT`, `INVALID_VIDEO_FORMAT` or `PAYLOAD_TOO_LARGE`, naming the field.
   */
  abstract prepare(model: ModelRequest, recording: RecordingInput): Promise<InputTranscription>;
}
