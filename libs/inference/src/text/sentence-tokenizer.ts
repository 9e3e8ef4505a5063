import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { loadTokenizerConfig, type TokenizerConfig, type TokenizerFile } from './text-tokenizer.js';

/** Characters that are looked at in one go while it is not yet clear whether a text is too long. */
const segmentCharacters = 32_768;
/** Cutting a text changes its tokens a little at each cut: only what is this much too long is judged by its pieces. */
const sureFactor = 2;
const sureTokens = 64;

/** A text as ids, or how long it is where it is longer than allowed, in words. */
export type EncodedSentence = { ids: Int32Array } | { tooLong: string };

/** Whole texts to ids with the marks that the model expects around them (`[CLS]`, `</s>`…), by `tokenizer.json`. */
export class SentenceTokenizer {
  readonly padId: number;

  constructor(
    private readonly tokenizer: Tokenizer,
    config: TokenizerConfig,
  ) {
    const { pad_token: pad } = config;
    const name = typeof pad === 'object' ? pad?.content : pad;
    this.padId = (name === undefined ? undefined : tokenizer.token_to_id(name)) ?? 0;
  }

  static async load(directory: string): Promise<SentenceTokenizer> {
    const file = JSON.parse(await readFile(join(directory, 'tokenizer.json'), 'utf8')) as TokenizerFile;
    const config = await loadTokenizerConfig(directory);
    return new SentenceTokenizer(new Tokenizer(file, config), config);
  }

  /** Nothing is cut off: a text of more than `limit` tokens is too long. A huge one is found out by its beginning. */
  encode(text: string, limit: number): EncodedSentence {
    if (text.length > segmentCharacters) {
      const counted = this.countUpTo(text, limit * sureFactor + sureTokens);
      if (counted > limit * sureFactor + sureTokens) return { tooLong: `more than ${limit * sureFactor}` };
    }
    const { ids } = this.tokenizer.encode(text, { add_special_tokens: true });
    return ids.length > limit ? { tooLong: String(ids.length) } : { ids: Int32Array.from(ids) };
  }

  /** Tokens of the pieces of a text, no further than needed to exceed `most`. */
  private countUpTo(text: string, max: number): number {
    let count = 0;
    for (let from = 0; from < text.length && count <= max;) {
      const to = segmentEnd(text, from);
      count += this.tokenizer.encode(text.slice(from, to), { add_special_tokens: false }).ids.length;
      from = to;
    }
    return count;
  }
}

/** Behind the last space of a segment, so that no word is cut; in the middle where there is none. */
function segmentEnd(text: string, from: number): number {
  const end = Math.min(from + segmentCharacters, text.length);
  if (end === text.length) return end;
  const space = text.lastIndexOf(' ', end - 1);
  return space > from ? space : end;
}
