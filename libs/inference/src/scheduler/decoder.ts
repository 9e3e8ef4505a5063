import type { LogitsBatch } from '../sampling/logits-batch.js';
import type { PromptMedia } from './prompt-media.js';

/**
 * Keys and values of one sequence. Created by `Decoder.openRow`, changed only by its decoder, and unusable after
 * `release`.
 */
export interface CacheRow {
  /** Positions with keys and values. */
  readonly length: number;
  /** Number of leading positions that another row may copy with the same result as computing them. */
  readonly reusableLength: number;
  /** Returns the largest number up to `wanted` that `copyPrefix` takes: layers with a window drop what is before it. */
  copyableLength(wanted: number): number;
}

/** Logits that a step needs: none, the top candidates of each row, or all. */
export type LogitsNeeded = 'none' | 'top' | 'full';

/** Tokens to append to a row. */
export interface PrefillPart {
  row: CacheRow;
  tokenIds: Int32Array;
  /** What the whole prompt holds beside text; only for decoders that take embeddings. */
  media?: PromptMedia | null;
  /** Last part of the prompt: the row decodes from the next step on. */
  final: boolean;
}

export interface DecodePart {
  row: CacheRow;
  tokenId: number;
  /** The row takes no token in this step, and has no logits behind it: its token is ignored. */
  sitsOut?: boolean;
  /** Tokens whose logits the row needs, at most some dozens; only where the decoder `givesWanted`. */
  wantedIds?: readonly number[];
  /**
   * Tokens that may follow, computed in the same run: the logits behind each are in the rows of the batch after that of
   * `tokenId`. Only where the decoder `takesDrafts`.
   */
  draft?: Int32Array;
}

/**
 * A decoder graph with the cache of its rows. Calls must not overlap, and each ends the use of the batch before. A rejected call leaves the lengths of its rows
 * unchanged.
 */
export interface Decoder {
  readonly kind: 'split' | 'concat' | 'device';
  readonly vocabularySize: number;
  /** Number of top logits per row in `top`; 0 if the graph has no such output. */
  readonly topSize: number;
  /** Whether batches contain the log-sum-exp of each row, also with top candidates. */
  readonly hasLogSumExp: boolean;
  /** Whether decode steps return the logits of `wantedIds`, whatever else is wanted. */
  readonly givesWanted: boolean;
  /** Maximum number of rows per `prefill` call. */
  readonly maxPrefillRows: number;
  /** Whether decode steps take drafts; absent: false. */
  readonly takesDrafts?: boolean;
  /** Positions of an image must be computed in one run, because they see each other; absent: false. */
  readonly needsWholeMedia?: boolean;
  /** Lengths of a reusable prefix are multiples of this. */
  readonly prefixGrain: number;
  /** `adapter`: number of the adapter that computes the row; default 0, none. */
  openRow(adapter?: number): CacheRow;
  /** Fills the empty row `to` with the first `length` positions of `from`, a row of the same adapter. */
  copyPrefix(copy: { from: CacheRow; to: CacheRow; length: number }): void;
  /**
   * Appends the parts' tokens. Returns the logits after the last token of each part, in part order. Several parts at
   * once must all be final.
   */
  prefill(parts: readonly PrefillPart[], wanted: LogitsNeeded): Promise<LogitsBatch>;
  /** Appends tokens to a row that finished its prompt, in one run and without logits. */
  extend(row: CacheRow, tokenIds: Int32Array): Promise<void>;
  /**
   * Appends one token to every row that finished its prompt and was not released, but for those that sit out; parts must
   * name all of them.
   */
  decode(parts: readonly DecodePart[], wanted: LogitsNeeded): Promise<LogitsBatch>;
  /** Appends the next token of the row's draft, which the last decode step computed. Others never enter the cache. */
  takeDrafted?(row: CacheRow): void;
  /**
   * Repeats the last decode step and returns every logit of its rows; the cache stays unchanged. Must directly follow
   * that step.
   */
  repeatForLogits(): Promise<LogitsBatch>;
  /**
   * Removes a row from the running batch and keeps its cache for `copyPrefix`. The given row is unusable afterwards.
   */
  retain(row: CacheRow): CacheRow;
  /** Frees the row. `tainted` marks numbers that are not finite, so that no later row sees them. */
  release(row: CacheRow, tainted?: boolean): void;
  /** Cache elements passed to the graph over all runs, for tests and metrics. */
  readonly cacheElementsFed: number;
  /** Time in the session's run calls, in ms. */
  readonly runMs: number;
  close(): Promise<void>;
}
