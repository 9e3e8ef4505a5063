import { addedTokens, bpeModel, surroundWith, type AddedToken } from './tokenizer-json.js';

/** A byte-level BPE vocabulary, as GPT-2 and its heirs have it. */
export interface ByteLevelVocabulary {
  tokens: string[];
  /** `left right`, the first merged first. */
  merges: string[];
  added: AddedToken[];
  bos: AddedToken | null;
  eos: AddedToken | null;
  addsBos: boolean;
  addsEos: boolean;
  /** Name of the rule that cuts texts into words; null for GPT-2's own. */
  wordPattern: string | null;
}

/** Rules by the names that GGUF files give them. `null` is GPT-2's, which the tokenizer libraries have built in. */
export const wordPatterns: Record<string, string | null> = {
  default: null,
  'gpt-2': null,
  'llama-bpe':
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  qwen2:
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
};

/** The `tokenizer.json` that splits texts into bytes, words by the pattern, and merges within words. */
export function byteLevelTokenizerJson(vocabulary: ByteLevelVocabulary): Record<string, unknown> {
  const { tokens, merges, bos, eos, wordPattern } = vocabulary;
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false };
  const words = { type: 'Split', pattern: { Regex: wordPattern }, behavior: 'Isolated', invert: false };
  const bytes = { ...byteLevel, use_regex: false };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens(vocabulary.added),
    normalizer: null,
    pre_tokenizer:
      wordPattern === null ? { ...byteLevel, use_regex: true } : { type: 'Sequence', pretokenizers: [words, bytes] },
    post_processor: surroundWith(vocabulary.addsBos ? bos : null, vocabulary.addsEos ? eos : null),
    decoder: { ...byteLevel, use_regex: true },
    model: bpeModel({ tokens, merges }, { unk_token: null, fuse_unk: false, byte_fallback: false }),
  };
}
