import { addedTokens, bpeModel, surroundWith, type AddedToken } from './tokenizer-json.js';
import type { WordRule } from './word-rules.js';

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
  /** Whether a space is added before the text. */
  addsSpace?: boolean;
  words: WordRule;
}

/** Builds a `tokenizer.json` that splits text into words by the rule and bytes, and merges within words. */
export function byteLevelTokenizerJson(vocabulary: ByteLevelVocabulary): Record<string, unknown> {
  const { tokens, merges, bos, eos, words, addsSpace = false } = vocabulary;
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false };
  const splits = words.patterns.map((pattern) => ({
    type: 'Split',
    pattern: { Regex: pattern },
    behavior: 'Isolated',
    invert: false,
  }));
  const normalizers = [
    ...(words.normalizer === undefined ? [] : [{ type: words.normalizer }]),
    ...(addsSpace ? [{ type: 'Prepend', prepend: ' ' }] : []),
  ];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens(vocabulary.added),
    normalizer: normalizers.length === 0 ? null : { type: 'Sequence', normalizers },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [...splits, { ...byteLevel, use_regex: false }] },
    post_processor: surroundWith(vocabulary.addsBos ? bos : null, vocabulary.addsEos ? eos : null),
    decoder: { ...byteLevel, use_regex: true },
    model: bpeModel(
      { tokens, merges },
      { unk_token: null, fuse_unk: false, byte_fallback: false, ignore_merges: words.wholeWords ?? false },
    ),
  };
}
