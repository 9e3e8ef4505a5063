import { wholeMediaEnd } from './prompt-media.js';
import { type GivenLogits, TokenSampler } from '../sampling/token-sampler.js';
import type { CacheRow } from './decoder.js';
import type { CachedPrefix, PrefixScope } from './prefix-store.js';
import { noDraft, PromptLookup } from './prompt-lookup.js';
import type { SequenceRequest } from './sequence.js';

const unlabelled: PrefixScope = { sharedTokens: 0 };

/** A request in the scheduler: waiting, then prefilling, then decoding. */
export class RunningSequence {
  readonly sampler: TokenSampler;
  readonly scope: PrefixScope;
  readonly lookup = new PromptLookup();
  /** Null while waiting. */
  row: CacheRow | null = null;
  /** Prompt tokens in the cache. */
  prefilled = 0;
  cachedTokens = 0;
  /** Leading positions computed in whole chunks from the first on, by this sequence or its sources. */
  exactLength = 0;
  isCancelled = false;
  /** Whether a prefix was searched; done once, when the first part is computed. */
  hasStarted = false;
  /** Whether its constraint is still finding out what may follow the last token. It sits out the steps until then. */
  isSettling = false;
  /** Prompt, by its keys where it holds more than text, then output. */
  private tokens: Int32Array;
  tokenCount: number;

  constructor(readonly request: SequenceRequest) {
    this.sampler = new TokenSampler(request.sampling, request.promptIds, request.constraint ?? null);
    this.scope = { ...(request.scope ?? unlabelled), adapter: request.adapter ?? 0 };
    this.tokens = this.promptKeys;
    this.tokenCount = this.prefillLength;
  }

  get promptLength(): number {
    return this.request.promptIds.length;
  }

  /** Tokens of the prompt that are computed in chunks; a prompt that is scored goes on as if it were generated. */
  get prefillLength(): number {
    return this.request.scoresPrompt === true ? 1 : this.promptLength;
  }

  /** The next token of a prompt that is scored; null behind it. */
  get nextPromptToken(): number | null {
    return this.tokenCount < this.promptLength ? (this.request.promptIds[this.tokenCount] ?? null) : null;
  }

  /** What a cached prefix of this prompt must equal. */
  get promptKeys(): Int32Array {
    return this.request.media?.keys ?? this.request.promptIds;
  }

  /** Below 0 while the prompt is scored. */
  get generatedCount(): number {
    return this.tokenCount - this.promptLength;
  }

  get remainingPrompt(): number {
    return this.prefillLength - this.prefilled;
  }

  /** Returns how many tokens of the prompt are computed next: a chunk, or less or more where images must be whole. */
  nextPiece(chunkTokens: number, { needsWholeMedia }: { needsWholeMedia?: boolean }): number {
    const take = Math.min(this.remainingPrompt, chunkTokens);
    if (needsWholeMedia !== true) return take;
    const { media } = this.request;
    return wholeMediaEnd(media?.spans ?? [], { start: this.prefilled, end: this.prefilled + take }) - this.prefilled;
  }

  /** Maximum positions of its cache; the last token is never fed back. */
  get reservedTokens(): number {
    return this.promptLength + Math.max(0, this.request.maxNewTokens - 1);
  }

  /** Tokens that are not in the cache yet: the last one, and others where several were forced. */
  get pendingTokens(): Int32Array {
    return this.tokens.subarray(Math.max(this.prefillLength, this.row?.length ?? 0), this.tokenCount);
  }

  /**
   * Returns up to `maxTokens` tokens that may follow the last one. A reproducible text has no draft, since a run of several
   * tokens rounds differently; and the keys of images are no tokens.
   */
  proposeDraft(maxTokens: number): Int32Array {
    const { media, maxNewTokens } = this.request;
    if (this.isRepeatable || this.isSettling || media || this.nextPromptToken !== null) return noDraft;
    if (this.pendingTokens.length !== 1) return noDraft;
    // The last token of a text is never computed.
    const limit = Math.min(maxTokens, maxNewTokens - this.generatedCount - 1);
    return this.lookup.propose(this.tokens.subarray(0, this.tokenCount), limit);
  }

  /**
   * Whether the client asked for a reproducible text. Another chunk start rounds differently, which can flip a near tie
   * in four-bit weights. What is copied must therefore have been computed as this sequence would compute it.
   */
  get isRepeatable(): boolean {
    return this.request.sampling.seed !== undefined;
  }

  /** Records that the row now contains `length` positions of `holder`. */
  copied(length: number, entry: CachedPrefix, chunkTokens: number): void {
    this.prefilled = length;
    this.cachedTokens = length;
    const exact = Math.min(length, entry.exactLength);
    this.exactLength = exact - (exact % chunkTokens);
  }

  /** Records that the next `length` prompt tokens were computed in one run. */
  computed(length: number, chunkTokens: number): void {
    if (this.exactLength === this.prefilled && length === chunkTokens) this.exactLength += length;
    this.prefilled += length;
  }

  /** Tokens whose logits decide or score the next one, beside those that the graph returns first. */
  wantedIds(given: GivenLogits): readonly number[] {
    if (this.nextPromptToken === null) return this.sampler.wantedIds(given);
    return given.givesWanted === true ? [this.nextPromptToken] : [];
  }

  /** Whether the log-probabilities of the next token need all logits. */
  scoresNeedAll(given: GivenLogits): boolean {
    const { topLogprobs } = this.request;
    if (topLogprobs === null) return false;
    if (this.nextPromptToken !== null && given.givesWanted !== true) return true;
    return this.sampler.scoresNeedAll(given, topLogprobs);
  }

  /** Estimates the probability, 0 to 1, that the next token needs all logits. */
  fullChance(given: GivenLogits): number {
    return this.nextPromptToken === null ? this.sampler.fullChance(given) : 0;
  }

  /** Goes on to the next token of a prompt that is scored; the text begins behind it. */
  pushPrompt(): void {
    this.tokenCount++;
  }

  push(tokenId: number): void {
    if (this.tokenCount === this.tokens.length) {
      const grown = new Int32Array(this.tokens.length + Math.max(64, this.generatedCount));
      grown.set(this.tokens);
      this.tokens = grown;
    }
    this.tokens[this.tokenCount++] = tokenId;
    this.sampler.accept(tokenId);
    this.request.constraint?.accept(tokenId);
  }

  /** Works for some ms on what may follow the last token; false where that is not known then. */
  prepare(sliceMs: number): boolean {
    return this.request.constraint?.prepare?.(sliceMs) ?? true;
  }

  /** Whether nothing may follow but the end. */
  get isFinished(): boolean {
    return this.request.constraint?.isFinished() ?? false;
  }

  /** Returns the row with its token ids; null while waiting. */
  held(): CachedPrefix | null {
    if (this.row === null) return null;
    const { row, scope, exactLength } = this;
    return { row, scope, exactLength, ids: this.tokens.subarray(0, row.length) };
  }
}
