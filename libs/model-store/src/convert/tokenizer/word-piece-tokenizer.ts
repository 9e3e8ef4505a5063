import { type AddedToken, addedTokens, surroundWith } from './tokenizer-json.js';

export interface WordPieceVocabulary {
  /** Texts by id; pieces that continue a word begin with `##`. */
  tokens: string[];
  added: AddedToken[];
  begin: AddedToken;
  end: AddedToken;
  unknown: AddedToken;
}

const maxWordCharacters = 100;

/** `tokenizer.json` of BERT. Letters are lowered unless the vocabulary has capitals. */
export function wordPieceTokenizerJson(vocabulary: WordPieceVocabulary): Record<string, unknown> {
  const { tokens, added, begin, end, unknown } = vocabulary;
  const special = new Set(added.map(({ content }) => content));
  const isCased = tokens.some((token) => !special.has(token) && token !== token.toLowerCase());
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens(added),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: !isCased,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: surroundWith(begin, end),
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: unknown.content,
      continuing_subword_prefix: '##',
      max_input_chars_per_word: maxWordCharacters,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    },
  };
}
