import type { TextEngineStats } from '../contract/text-generation.js';
import type { Decoder } from './decoder.js';
import type { SequenceRequest } from './sequence.js';

/** Limits of the running batch. */
export interface SchedulerLimits {
  /** Maximum number of sequences prefilling or decoding. */
  slots: number;
  /** Maximum beyond `slots` of sequences that may use a spare slot; default 0. */
  spareSlots?: number;
  /** Longest prompt plus output of a sequence, in tokens. */
  contextLength: number;
  /** Maximum number of tokens in all caches: worst case of running sequences plus retained prefixes. */
  cacheTokens: number;
  /** Maximum number of prompt tokens computed between two decode steps. Default 64. */
  chunkTokens?: number;
}

export interface SchedulerOptions extends SchedulerLimits {
  decoder: Decoder;
  /** Whether tokens that a constraint leaves no choice for are taken at once, without a step for each. Default true. */
  jumpsForward?: boolean;
  /** Maximum number of tokens of a row that prompt lookup drafts for one step; default 0: none. */
  draftTokens?: number;
  /**
   * Called after the listeners of a step, and also before its decode tokens if it produced first tokens: the point to
   * send a message.
   */
  afterStep?: () => void;
}

/**
 * Runs many sequences in one batch. `submit` never throws for an invalid request, which is reported through
 * `onFailure`. Listeners are called between two runs of the session, never inside `submit` or `cancel`. An id may be
 * reused once its sequence has ended.
 */
export interface SequenceScheduler {
  submit(request: SequenceRequest): void;
  /** Ends the sequence before its next token: `onEnd('cancelled')`. Unknown ids are ignored. */
  cancel(id: string): void;
  stats(): TextEngineStats;
  /** Fails running sequences with `MODEL_OFFLINE` and releases the decoder. */
  close(): Promise<void>;
}
