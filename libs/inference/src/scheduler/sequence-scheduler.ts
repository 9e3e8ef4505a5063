import type { TextEngineStats } from '../contract/text-generation.js';
import type { Decoder } from './decoder.js';
import type { SequenceRequest } from './sequence.js';

/** Limits of one running batch. */
export interface SchedulerLimits {
  /** Most sequences prefilling or decoding at once. */
  slots: number;
  /** Longest prompt plus output of a sequence, in tokens. */
  contextLength: number;
  /** Most tokens that all caches may come to hold: worst case of running sequences plus finished prefixes kept. */
  cacheTokens: number;
  /** Most prompt tokens computed between two decode steps. Default 64. */
  chunkTokens?: number;
}

export interface SchedulerOptions extends SchedulerLimits {
  decoder: Decoder;
  /** Called after the listeners of a step, and before its tokens where it brought first ones: the place to send a message. */
  afterStep?: () => void;
}

/**
 * Runs many sequences in one batch. `submit` never throws for a bad request: the listener hears `onFailure`.
 * Listeners are called between two runs of the session, never inside `submit` or `cancel`. An id may be used again
 * once its sequence has ended.
 */
export interface SequenceScheduler {
  submit(request: SequenceRequest): void;
  /** Ends the sequence before its next token: `onEnd('cancelled')`. Unknown ids are ignored. */
  cancel(id: string): void;
  stats(): TextEngineStats;
  /** Fails what still runs with `MODEL_OFFLINE` and releases the decoder. */
  close(): Promise<void>;
}
