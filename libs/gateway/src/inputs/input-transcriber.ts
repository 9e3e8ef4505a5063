import type { NanoUsd } from '#common';
import type { MediaContainer } from '#media';
import type { ModelRequest } from '../pipeline/model-request.js';

/** Sound that a request holds: the bytes of a recording, or the URL of a video. */
export interface RecordingInput {
  source: { bytes: Buffer } | { url: string };
  /** Containers that it may have. */
  containers: readonly MediaContainer[];
  /** Content types that a URL may answer with, such as `video/*`. Absent: any. */
  contentTypes?: readonly string[];
  /** A video without a sound track counts as silent; a recording without one is refused. */
  kind: 'recording' | 'video';
  /** Field to name in errors. */
  param: string;
  /** Length that is refused when it is exceeded, in seconds. */
  maxSeconds: number;
  /** Ms from the start of the job. */
  deadlineMs: number;
}

/** A stored and checked recording that can be transcribed. Nothing was charged yet. */
export interface InputTranscription {
  /** Maximum seconds that are charged. */
  seconds: number;
  /** Worst-case price of the transcription. */
  amountNano: NanoUsd;
  /** Applies the limits of the model. Rejects as `ModelRequest.limit` does. */
  limit(): Promise<void>;
  /**
   * Transcribes the recording, after `limit`; empty if nobody speaks. `reservedNano` is reserved, at least `amountNano`,
   * and only the transcription is charged. Rejects as `LimitedModelRequest.start` and `StartedJob.follow` do, with
   * `INVALID_AUDIO_FORMAT` for a damaged recording and with `INFERENCE_FAILED` if the model fails.
   */
  run(reservedNano: NanoUsd): Promise<string>;
}

/**
 * Transcribes recordings that requests for other models hold. Abstract, because the slice that uses it may not depend on
 * the transcription slice.
 */
export abstract class InputTranscriber {
  /**
   * Stores and measures a recording. `model` comes from `RequestPipeline.openInput`. Rejects with
   * `INVALID_AUDIO_FORMAT`, `INVALID_VIDEO_FORMAT` or `PAYLOAD_TOO_LARGE`, naming the field, and as `Egress.open` does.
   */
  abstract prepare(model: ModelRequest, recording: RecordingInput): Promise<InputTranscription>;
}
