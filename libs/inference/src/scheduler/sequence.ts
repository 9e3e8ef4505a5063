import type { SamplingOptions } from '../contract/text-generation.js';
import type { TokenConstraint } from '../sampling/token-constraint.js';
import type { TokenScore } from '../sampling/token-score.js';
import type { PrefixScope } from './prefix-store.js';
import type { PromptMedia } from './prompt-media.js';

/** Why a sequence ended. `stopped`: the listener ended it (a stop string matched). */
export type SequenceEnd = 'eos' | 'stop-token' | 'length' | 'stopped' | 'cancelled';

/** Called by the scheduler, synchronously, between two runs of the session. */
export interface SequenceListener {
  /** The prompt is in the cache, and scored if it is to be; `cachedTokens` of it were copied from another slot's prefix. */
  onPrompt(cachedTokens: number): void;
  /** The next token of a prompt that is scored, from the second on; before `onPrompt`. */
  onPromptToken?(tokenId: number, score: TokenScore): void;
  /** One more token (never an EOS). Returning `stop` ends the sequence after it. */
  onToken(tokenId: number, score: TokenScore | null): 'continue' | 'stop';
  onEnd(end: SequenceEnd): void;
  onFailure(error: unknown): void;
}

/** A prompt in token ids and how to continue it; one row of the batch. */
export interface SequenceRequest {
  id: string;
  /** At least 1 token; prompt and output together at most the model's context length. */
  promptIds: Int32Array;
  /** Which cached prefixes it may copy, and who may copy its own; absent: one scope without a label. */
  scope?: PrefixScope;
  /** Number of the adapter that computes it; absent: none. Prefixes of other adapters are never copied. */
  adapter?: number;
  /** Images of the prompt; absent: text alone. */
  media?: PromptMedia | null;
  /** Starts before the waiting ones, and also where only spare slots are free. */
  mayUseSpareSlot?: boolean;
  /** How long its row is kept as a prefix before those of others, in ms; absent: as long as there is room. */
  cacheMs?: number;
  sampling: SamplingOptions;
  /** 0 computes the prompt alone. */
  maxNewTokens: number;
  eosTokenIds: ReadonlySet<number>;
  stopTokenIds: ReadonlySet<number>;
  /** Null for none; else alternatives per token. */
  topLogprobs: number | null;
  /**
   * Scores the prompt: a step computes one token of it and gives the logits for the next, so that no run returns more than
   * one position of a row. Nothing is copied from other rows. Only with `topLogprobs` and without media.
   */
  scoresPrompt?: boolean;
  /** What its text must keep to; absent: nothing. EOS tokens come only where it lets the text end. */
  constraint?: TokenConstraint | null;
  listener: SequenceListener;
}
