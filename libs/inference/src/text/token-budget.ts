import type { Tokenizer } from '@huggingface/tokenizers';

/** Members of the library's model used here, which its types do not expose. */
interface WordEncoder {
  encode(words: string[]): string[];
  tokens_to_ids: ReadonlyMap<string, number>;
  unk_token_id?: number;
  /** True if adjacent unknown tokens are merged into one. */
  fuse_unk: boolean;
}

/** Encoding stops beyond this factor and surplus; a text slightly over the limit is counted exactly. */
const toleranceFactor = 2;
const toleranceTokens = 64;

/** Characters of one unbroken word encoded at once until it is clear whether it is far too long. */
const pieceCharacters = 16_384;

/** Maximum tokens per character (UTF-16 unit): one for each of its bytes. */
const maxTokensOfCharacter = 3;

class BudgetSpent extends Error {}

/**
 * Aborts the encoding of a far too long text at the word that exceeds the budget. The library encodes one word after
 * another, so a text within its budget has the same tokens as without one.
 */
export class TokenBudget {
  private remaining = Infinity;
  private readonly model: WordEncoder;
  private readonly encode: (words: string[]) => string[];

  constructor(tokenizer: Tokenizer) {
    const model = tokenizer.model as unknown as WordEncoder;
    this.model = model;
    this.encode = model.encode.bind(model);
    model.encode = (words) => (this.remaining === Infinity ? this.encode(words) : this.encodeWithin(words));
  }

  /** Returns null if the text that `encode` encodes has clearly more than `limit` tokens. */
  within<Result>(limit: number, encode: () => Result): Result | null {
    this.remaining = limit * toleranceFactor + toleranceTokens;
    try {
      return encode();
    } catch (error) {
      if (error instanceof BudgetSpent) return null;
      throw error;
    } finally {
      this.remaining = Infinity;
    }
  }

  private encodeWithin(words: readonly string[]): string[] {
    const tokens: string[] = [];
    for (const word of words) {
      if (word.length > pieceCharacters && word.length * maxTokensOfCharacter > this.remaining) this.estimate(word);
      const wordTokens = this.encode([word]);
      this.spend(wordTokens);
      for (const token of wordTokens) tokens.push(token);
    }
    return tokens;
  }

  /** Estimates a word's tokens in pieces. Splitting changes tokens only at the splits, far less than the factor. */
  private estimate(word: string): void {
    const before = this.remaining;
    for (let from = 0; from < word.length; from += pieceCharacters) {
      this.spend(this.encode([word.slice(from, from + pieceCharacters)]));
    }
    this.remaining = before;
  }

  private spend(tokens: readonly string[]): void {
    this.remaining -= this.model.fuse_unk ? tokens.filter((token) => this.isKnown(token)).length : tokens.length;
    if (this.remaining < 0) throw new BudgetSpent();
  }

  private isKnown(token: string): boolean {
    const { tokens_to_ids: ids, unk_token_id: unknownId } = this.model;
    return (ids.get(token) ?? unknownId) !== unknownId;
  }
}
