import { addedTokens, bpeModel, surroundWith, type AddedToken } from './tokenizer-json.js';

/** A byte-level BPE vocabulary, as in GPT-2 and its successors. */
export interface ByteLevelVocabulary {
  tokens: string[];
  /** `left right`, in merge order. */
  merges: string[];
  added: AddedToken[];
  bos: AddedToken | null;
  eos: AddedToken | null;
  addsBos: boolean;
  addsEos: boolean;
  /** Name of the rule that splits text into words; null for GPT-2's own. */
  wordPattern: string | null;
}

/** Split rules by their names in GGUF files. `null` is GPT-2's, which is built into the tokenizer libraries. */
export const wordPatterns: Record<string, string | null> = {
  default: null,
  'gpt-2': null,
  'llama-bpe':
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  qwen2:
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
};

/** Builds a `tokenizer.json` that splits text into words by the pattern and bytes, and merges within words. */
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
