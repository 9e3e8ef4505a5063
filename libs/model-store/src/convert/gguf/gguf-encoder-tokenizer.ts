import { invalidFile, quoted } from '../invalid-file.js';
import type { AddedToken } from '../tokenizer/tokenizer-json.js';
import { unigramTokenizerJson } from '../tokenizer/unigram-tokenizer.js';
import { wordPieceTokenizerJson } from '../tokenizer/word-piece-tokenizer.js';
import type { GgufMetadata } from './gguf-metadata.js';

/** `tokenizer.ggml.token_type` of tokens that are not found in a text. */
const specialTypes: readonly number[] = [2, 3];
/** The character in front of a piece that begins a word; other pieces continue one. */
const wordStart = '\u2581';

export interface GgufEncoderTokenizer {
  tokenizerJson: Record<string, unknown>;
  tokenizerConfig: Record<string, unknown>;
}

interface EncoderVocabulary {
  tokens: string[];
  added: AddedToken[];
  begin: AddedToken;
  end: AddedToken;
  unknown: AddedToken;
}

/** Converts the tokenizer of an encoder from its metadata: WordPiece as of BERT, or pieces with probabilities as of XLM-R. */
export function readGgufEncoderTokenizer(metadata: GgufMetadata, vocabularySize: number): GgufEncoderTokenizer {
  const { fileName } = metadata;
  const kind = metadata.text('tokenizer.ggml.model');
  if (kind !== 'bert' && kind !== 't5') {
    throw invalidFile(fileName, `its tokenizer is ${quoted(kind)}; of encoders, bert and t5 are known`);
  }
  const tokens = metadata.texts('tokenizer.ggml.tokens');
  if (tokens.length > vocabularySize) {
    throw invalidFile(fileName, `it names ${tokens.length} tokens and has weights for ${vocabularySize}`);
  }
  const types = metadata.optionalNumbers('tokenizer.ggml.token_type') ?? [];
  const isSpecial = (id: number): boolean => specialTypes.includes(types[id] ?? 0);
  const added = tokens.flatMap((content, id) => (isSpecial(id) ? [{ id, content, special: true }] : []));
  const special = (keys: readonly string[], fallback: string): AddedToken => {
    const named = keys.map((key) => metadata.optionalNumber(`tokenizer.ggml.${key}`)).find((id) => id !== null);
    const id = named ?? tokens.indexOf(fallback);
    const content = tokens[id];
    if (content === undefined) throw invalidFile(fileName, `its tokenizer has no ${fallback}`);
    return { id, content, special: true };
  };
  const isWordPiece = kind === 'bert';
  const vocabulary: EncoderVocabulary = {
    tokens: isWordPiece ? tokens.map((token, id) => (isSpecial(id) ? token : wordPiece(token))) : tokens,
    added,
    begin: special(['cls_token_id', 'bos_token_id'], isWordPiece ? '[CLS]' : '<s>'),
    // The key is misspelled in the format.
    end: special(['seperator_token_id', 'eos_token_id'], isWordPiece ? '[SEP]' : '</s>'),
    unknown: special(['unknown_token_id'], isWordPiece ? '[UNK]' : '<unk>'),
  };
  const pad = special(['padding_token_id'], isWordPiece ? '[PAD]' : '<pad>');
  return {
    tokenizerJson: isWordPiece ? wordPieceTokenizerJson(vocabulary) : unigram(metadata, vocabulary),
    tokenizerConfig: {
      tokenizer_class: isWordPiece ? 'BertTokenizer' : 'XLMRobertaTokenizer',
      cls_token: vocabulary.begin.content,
      sep_token: vocabulary.end.content,
      unk_token: vocabulary.unknown.content,
      pad_token: pad.content,
    },
  };
}

function wordPiece(token: string): string {
  return token.startsWith(wordStart) ? token.slice(wordStart.length) : `##${token}`;
}

function unigram(metadata: GgufMetadata, { tokens, ...vocabulary }: EncoderVocabulary): Record<string, unknown> {
  const scores = metadata.optionalNumbers('tokenizer.ggml.scores');
  if (scores?.length !== tokens.length) throw invalidFile(metadata.fileName, 'its tokenizer comes without scores');
  const charsmap = metadata.optionalNumbers('tokenizer.ggml.precompiled_charsmap');
  return unigramTokenizerJson({
    ...vocabulary,
    pieces: tokens,
    scores,
    addsSpace: metadata.flag('tokenizer.ggml.add_space_prefix', true),
    joinsSpaces: metadata.flag('tokenizer.ggml.remove_extra_whitespaces', true),
    charsmap: charsmap === null ? null : Uint8Array.from(charsmap),
  });
}
