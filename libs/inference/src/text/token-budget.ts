import type { Tokenizer } from '@huggingface/tokenizers';

/** The members of the library's model that are used here; its types keep them to themselves. */
interface WordEncoder {
  encode(words: string[]): string[];
  tokens_to_ids: ReadonlyMap<string, number>;
  unk_token_id?: number;
  /** Neighbours that are unknown become one token. */
  fuse_unk: boolean;
}

/** What is this much too long is not looked at to its end: who is only a little over is told by how much. */
const sureFactor = 2;
const sureTokens = 64;

/** Characters of one unbroken word that are encoded in one go while it is not clear whether it is far too long. */
const pieceCharacters = 16_384;

/** No character (UTF-16 unit) becomes more tokens: one for each of its bytes. */
const maxTokensOfCharacter = 3;

class BudgetSpent extends Error {}

/**
 * Ends the encoding of a text that is far too long at the word that makes it so. The library's encoder takes one word after
 * the other, so a text that stays within its budget has the tokens that it has without one.
 */
export class TokenBudget {
  private left = Infinity;
  private readonly model: WordEncoder;
  private readonly encode: (words: string[]) => string[];

  constructor(tokenizer: Tokenizer) {
    const model = tokenizer.model as unknown as WordEncoder;
    this.model = model;
    this.encode = model.encode.bind(model);
    model.encode = (words) => (this.left === Infinity ? this.encode(words) : this.encodeWithin(words));
  }

  /** Null where the text that `encode` encodes has clearly more than `limit` tokens. */
  within<Result>(limit: number, encode: () => Result): Result | null {
    this.left = limit * sureFactor + sureTokens;
    try {
      return encode();
    } catch (error) {
      if (error instanceof BudgetSpent) return null;
      throw error;
    } finally {
      this.left = Infinity;
    }
  }

  private encodeWithin(words: readonly string[]): string[] {
    const tokens: string[] = [];
    for (const word of words) {
      if (word.length > pieceCharacters && word.length * maxTokensOfCharacter > this.left) this.weigh(word);
      const ofWord = this.encode([word]);
      this.spend(ofWord);
      for (const token of ofWord) tokens.push(token);
    }
    return tokens;
  }

  /** Cutting a word changes its tokens at the cuts alone, far less than by the factor. */
  private weigh(word: string): void {
    const before = this.left;
    for (let from = 0; from < word.length; from += pieceCharacters) {
      this.spend(this.encode([word.slice(from, from + pieceCharacters)]));
    }
    this.left = before;
  }

  private spend(tokens: readonly string[]): void {
    this.left -= this.model.fuse_unk ? tokens.filter((token) => this.isKnown(token)).length : tokens.length;
    if (this.left < 0) throw new BudgetSpent();
  }

  private isKnown(token: string): boolean {
    const { tokens_to_ids: ids, unk_token_id: unknownId } = this.model;
    return (ids.get(token) ?? unknownId) !== unknownId;
  }
}
