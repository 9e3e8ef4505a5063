import type { ModelRequest } from '../pipeline/model-request.js';
import type { InputWork } from './input-work.js';

/** A text of a request whose vector is wanted. */
export interface EmbeddedText {
  /** A longer text than the model reads is shortened in the middle. */
  text: string;
  /** Field to name in errors. */
  param: string;
  /** Ms from the start of the job. */
  deadlineMs: number;
}

/** Texts that help with a request, or that an operator stores. */
export interface FreeTexts {
  texts: string[];
  deadlineMs: number;
  /** Cancels the job. */
  signal: AbortSignal;
}

/**
 * Embeds texts for requests of other models. Abstract, because the slice that uses it may not depend on the embedding
 * slice.
 */
export abstract class TextEmbedder {
  /** `model` comes from `RequestPipeline.openInput`. Rejects with `MODEL_OFFLINE` while no worker serves it. */
  abstract prepare(model: ModelRequest, input: EmbeddedText): Promise<InputWork<number[]>>;

  /**
   * Returns a vector per text, in a job that is free because the request that it helps pays for what follows from it.
   * Texts that the model does not read whole are shortened. Rejects as `JobRunner.run` does, and with `MODEL_OFFLINE`.
   */
  abstract embedFreely(model: ModelRequest, input: FreeTexts): Promise<number[][]>;

  /** Embeds like `embedFreely`, but rejects with `TOO_MANY_TOKENS` where the model does not read a text whole. */
  abstract embedWhole(model: ModelRequest, input: FreeTexts): Promise<number[][]>;
}
