import { TokenSampler } from '../sampling/token-sampler.js';
import type { CacheRow } from './decoder.js';
import type { HeldPrefix } from './prefix-store.js';
import type { SequenceRequest } from './sequence.js';

/** One request while the scheduler knows it: waiting, then prefilling, then decoding. */
export class RunningSequence {
  readonly sampler: TokenSampler;
  /** Null while waiting. */
  row: CacheRow | null = null;
  /** Prompt tokens whose keys and values are held. */
  prefilled = 0;
  cachedTokens = 0;
  /** Leading positions computed in whole chunks from the first on, by itself or by those it copied from. */
  exactLength = 0;
  isCancelled = false;
  /** Whether a prefix was looked for; done once, when the first part is computed. */
  hasStarted = false;
  /** Prompt, then output. */
  private tokens: Int32Array;
  tokenCount: number;

  constructor(readonly request: SequenceRequest) {
    this.sampler = new TokenSampler(request.sampling, request.promptIds, request.constraint ?? null);
    this.tokens = request.promptIds;
    this.tokenCount = request.promptIds.length;
  }

  get promptLength(): number {
    return this.request.promptIds.length;
  }

  get generatedCount(): number {
    return this.tokenCount - this.promptLength;
  }

  get remainingPrompt(): number {
    return this.promptLength - this.prefilled;
  }

  /** Most positions its cache can come to hold; the last token is never fed back. */
  get reservedTokens(): number {
    return this.promptLength + this.request.maxNewTokens - 1;
  }

  get lastToken(): number {
    return this.tokens[this.tokenCount - 1] ?? 0;
  }

  /**
   * Whether its caller asked for the same text each time. A chunk that begins elsewhere is rounded differently, and in
   * four bits that can turn a near tie, so what is copied must have been computed as this sequence would compute it.
   */
  get isRepeatable(): boolean {
    return this.request.sampling.seed !== undefined;
  }

  /** Notes that its row now holds `length` positions that `holder` held. */
  copied(length: number, replica: HeldPrefix, chunkTokens: number): void {
    this.prefilled = length;
    this.cachedTokens = length;
    const exact = Math.min(length, replica.exactLength);
    this.exactLength = exact - (exact % chunkTokens);
  }

  /** Notes that the next `length` tokens of the prompt were computed in one run. */
  computed(length: number, chunkTokens: number): void {
    if (this.exactLength === this.prefilled && length === chunkTokens) this.exactLength += length;
    this.prefilled += length;
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

  /** Whether nothing may follow but the end. */
  get isFinished(): boolean {
    return this.request.constraint?.isFinished() ?? false;
  }

  /** Its row with the ids that the row holds; null while waiting. */
  held(): HeldPrefix | null {
    return this.row && { row: this.row, ids: this.tokens.subarray(0, this.row.length), exactLength: this.exactLength };
  }
}
