import type { LogitsBatch } from '../sampling/logits-batch.js';

/**
 * Keys and values of one sequence. Made by `Decoder.openRow`, changed only by the decoder that made it, and of no
 * use after `release`.
 */
export interface CacheRow {
  /** Positions whose keys and values are held. */
  readonly length: number;
  /** How many of these, from the first on, another row may copy and get what computing them would have given. */
  readonly reusableLength: number;
}

/** What a step needs to see of the vocabulary: nothing, the best few of each row, or every logit. */
export type LogitsWanted = 'none' | 'top' | 'full';

/** Tokens to append to a row. */
export interface PrefillPart {
  row: CacheRow;
  tokenIds: Int32Array;
  /** Last part of the prompt: the row decodes from the next step on. */
  final: boolean;
}

export interface DecodePart {
  row: CacheRow;
  tokenId: number;
}

/**
 * A decoder graph together with the cache of its rows. Calls must not overlap. A call that rejects leaves the
 * lengths of its rows as they were.
 */
export interface Decoder {
  readonly kind: 'split' | 'concat';
  readonly vocabularySize: number;
  /** How many of the best logits `top` gives for each row; 0 when the graph has no such output. */
  readonly topSize: number;
  /** Whether batches carry the log-sum-exp of each row, also beside the best few. */
  readonly hasLogSumExp: boolean;
  /** Most rows that one `prefill` call takes. */
  readonly maxPrefillRows: number;
  /** Lengths of a reusable prefix are multiples of it. */
  readonly prefixGrain: number;
  openRow(): CacheRow;
  /** Fills the empty row `to` with the first `length` positions of `from`. */
  copyPrefix(copy: { from: CacheRow; to: CacheRow; length: number }): void;
  /**
   * Appends the parts' tokens. Logits are those after the last token of each part, in the order of the parts. Several
   * parts at once must all be final.
   */
  prefill(parts: readonly PrefillPart[], wanted: LogitsWanted): Promise<LogitsBatch>;
  /** Appends one token to every row that finished its prompt and was not released; parts must name all of them. */
  decode(parts: readonly DecodePart[], wanted: LogitsWanted): Promise<LogitsBatch>;
  /**
   * Runs the last decode step again and gives every logit of its rows; the cache stays as it is. Only right after
   * that step, before any other call.
   */
  repeatForLogits(): Promise<LogitsBatch>;
  /** Takes a row out of the running batch and keeps its cache for `copyPrefix`. The given row is of no use after. */
  retain(row: CacheRow): CacheRow;
  /** Frees the row. `tainted` when its numbers cannot be trusted (not finite), so that no later row meets them. */
  release(row: CacheRow, tainted?: boolean): void;
  /** Elements of cache given to the graph over all runs, for tests and metrics. */
  readonly cacheElementsFed: number;
  /** Ms spent inside the session's run calls. */
  readonly runMs: number;
  close(): Promise<void>;
}
