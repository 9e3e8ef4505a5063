import type { Tokenizer } from '@huggingface/tokenizers';
import { PlatformError } from '#common';
import { ControlTokens } from './control-tokens.js';
import { readMarkedText } from './marked-text.js';
import { encodeInTime } from './word-patterns.js';
import { loadTokenizer, padIdOf, type TokenizerConfig } from './text-tokenizer.js';

/** Number of characters tokenized at once until it is clear whether a text is too long. */
const segmentCharacters = 32_768;
/** Factor above the limit at which pieces decide: splitting a text changes its tokens slightly at each split. */
const toleranceFactor = 2;
const toleranceTokens = 64;

/** Ids of a text, or a description of its length if it is too long. */
export type EncodedSentence = { ids: Int32Array } | { tooLong: string };

/**
 * Converts whole texts to ids with the model's special tokens (`[CLS]`, `</s>`…), by `tokenizer.json`. Such a token's text
 * in a text is text.
 */
export class SentenceTokenizer {
  readonly padId: number;
  private readonly control: ControlTokens;
  /** Ends every text; null: as the tokenizer does. */
  private readonly endId: number | null;

  /** Throws `INVALID_MANIFEST` for an end token that is none of the vocabulary. */
  constructor(
    private readonly tokenizer: Tokenizer,
    config: TokenizerConfig,
    endToken: string | null = null,
  ) {
    this.endId = endToken === null ? null : (tokenizer.token_to_id(endToken) ?? null);
    if (endToken !== null && this.endId === null) {
      const message = `familyOptions.endToken is ${endToken.slice(0, 80)}, which is no token of this model.`;
      throw new PlatformError('INVALID_MANIFEST', message);
    }
    this.control = new ControlTokens(tokenizer.get_added_tokens_decoder().values());
    readMarkedText(tokenizer, this.control);
    this.padId = padIdOf(tokenizer, config);
  }

  static async load(directory: string, endToken: string | null = null): Promise<SentenceTokenizer> {
    const { tokenizer, config } = await loadTokenizer(directory);
    return new SentenceTokenizer(tokenizer, config, endToken);
  }

  /** Never truncates: a text of more than `limit` tokens is too long. A huge text is rejected by its beginning. */
  encode(text: string, limit: number): EncodedSentence {
    if (text.length > segmentCharacters) {
      const counted = this.countUpTo(text, limit * toleranceFactor + toleranceTokens);
      if (counted > limit * toleranceFactor + toleranceTokens)
        return { tooLong: `more than ${limit * toleranceFactor}` };
    }
    const ids = this.encodeAll(text);
    return ids.length > limit ? { tooLong: String(ids.length) } : { ids: Int32Array.from(ids) };
  }

  /**
   * Takes ids that a client made; null unless they are exactly what this tokenizer makes of a text, its special tokens
   * included. Those of another tokenizer mean other words here, and would give vectors without meaning.
   */
  accept(ids: readonly number[], limit: number): EncodedSentence | null {
    if (ids.length > limit) return { tooLong: String(ids.length) };
    // Without special tokens of its own, the ids of a short text could be anybody's.
    const hasSpecial = this.encodeAll('').length > 0;
    if (!hasSpecial || ids.some((id) => this.tokenizer.id_to_token(id) === undefined)) return null;
    const text = this.tokenizer.decode([...ids], { skip_special_tokens: true, clean_up_tokenization_spaces: false });
    const encoded = this.encodeAll(text);
    const isOwn = encoded.length === ids.length && encoded.every((id, index) => id === ids[index]);
    return isOwn ? { ids: Int32Array.from(encoded) } : null;
  }

  private encodeAll(text: string): number[] {
    const marked = this.marked(text);
    const { ids } = encodeInTime(marked, () => this.tokenizer.encode(marked, { add_special_tokens: true }));
    return this.endId === null || ids.at(-1) === this.endId ? ids : [...ids, this.endId];
  }

  private marked(text: string): string {
    return this.control.mark(text.toWellFormed());
  }

  /** Counts tokens of the pieces of a text, no further than needed to exceed `max`. */
  private countUpTo(text: string, max: number): number {
    let count = 0;
    for (let from = 0; from < text.length && count <= max;) {
      const to = segmentEnd(text, from);
      count += this.tokenizer.encode(this.marked(text.slice(from, to)), { add_special_tokens: false }).ids.length;
      from = to;
    }
    return count;
  }
}

/**
 * Returns the position after the last space of a segment, so that no word is split; the end of the segment without one.
 */
function segmentEnd(text: string, from: number): number {
  const end = Math.min(from + segmentCharacters, text.length);
  if (end === text.length) return end;
  const space = text.lastIndexOf(' ', end - 1);
  return space > from ? space : end;
}
