import { type AddedToken, addedTokens, surroundWith } from './tokenizer-json.js';

export interface UnigramVocabulary {
  /** Texts by id, with `▁` for spaces. */
  pieces: string[];
  scores: readonly number[];
  added: AddedToken[];
  begin: AddedToken;
  end: AddedToken;
  unknown: AddedToken;
  /** True if a space is added before the text. */
  addsSpace: boolean;
  /** True if runs of spaces are one, and none is at the ends. */
  joinsSpaces: boolean;
  /** Rules of the normalization as SentencePiece compiles them; null: none. */
  charsmap: Uint8Array | null;
}

/** `tokenizer.json` of encoders with a SentencePiece vocabulary of pieces with probabilities, such as XLM-R. */
export function unigramTokenizerJson(vocabulary: UnigramVocabulary): Record<string, unknown> {
  const { pieces, scores, added, begin, end, unknown, charsmap } = vocabulary;
  const spaces = {
    type: 'Metaspace',
    replacement: '▁',
    prepend_scheme: vocabulary.addsSpace ? 'always' : 'never',
    split: true,
  };
  const split = { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, spaces] };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens(added),
    normalizer:
      charsmap === null
        ? null
        : { type: 'Precompiled', precompiled_charsmap: Buffer.from(charsmap).toString('base64') },
    pre_tokenizer: vocabulary.joinsSpaces ? split : spaces,
    post_processor: surroundWith(begin, end),
    decoder: spaces,
    model: {
      type: 'Unigram',
      unk_id: unknown.id,
      byte_fallback: false,
      vocab: pieces.map((piece, id) => [piece, scores[id] ?? 0]),
    },
  };
}
