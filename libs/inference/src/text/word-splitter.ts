import type { Tokenizer } from '@huggingface/tokenizers';

/** Members of tokenizer.json that decide whether a text may be split. */
export interface SplittableFile {
  pre_tokenizer?: unknown;
  model?: {
    type?: string;
    ignore_merges?: boolean;
    end_of_word_suffix?: string | null;
    continuing_subword_prefix?: string | null;
  };
}

const innerSpace = /[^▁]▁/;

/**
 * Splits text into words for SentencePiece exports, which pass the whole text to the byte-pair encoder as one word.
 * That takes a second for a long prompt and stalls every stream of the host. If no token has a space after another
 * character, no merge can cross word boundaries. Splitting there gives the same tokens, in small words that the encoder
 * caches.
 */
export function splitIntoWords(tokenizer: Tokenizer, file: SplittableFile): void {
  const { pre_tokenizer: preTokenizer, model } = file;
  if (preTokenizer || model?.type !== 'BPE' || model.ignore_merges) return;
  if (model.end_of_word_suffix || model.continuing_subword_prefix) return;
  const added = tokenizer.get_added_tokens_decoder();
  for (const [token, id] of tokenizer.get_vocab()) if (innerSpace.test(token) && !added.has(id)) return;
  // The library calls any pre-tokenizer found here with the text, after its normalizer.
  const split = (text: string): string[] => text.split(/(?<=[^▁])(?=▁)/);
  tokenizer.pre_tokenizer = split as unknown as Tokenizer['pre_tokenizer'];
}
