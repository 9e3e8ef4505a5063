import { invalidFile } from '../invalid-file.js';
import { byteLevelTokenizerJson, wordPatterns } from '../tokenizer/byte-level-tokenizer.js';
import { sentencePieceTokenizerJson } from '../tokenizer/sentencepiece-tokenizer.js';
import type { AddedToken } from '../tokenizer/tokenizer-json.js';
import type { GgufMetadata } from './gguf-metadata.js';

/** `tokenizer.ggml.token_type`. */
const tokenType = { unknown: 2, control: 3, userDefined: 4, unused: 5 } as const;

/** Control tokens that end a response in common chat formats, because the metadata names only one. */
const endTokens = new Set(['</s>', '<|im_end|>', '<|eot_id|>', '<|end|>', '<|endoftext|>', '<|end_of_text|>']);

export interface GgufTokenizer {
  tokenizerJson: Record<string, unknown>;
  tokenizerConfig: Record<string, unknown>;
  bosTokenId: number | null;
  eosTokenIds: number[];
}

/** Converts the tokenizer in a GGUF file's metadata. */
export function readGgufTokenizer(metadata: GgufMetadata, vocabularySize: number): GgufTokenizer {
  const tokens = metadata.texts('tokenizer.ggml.tokens');
  if (tokens.length > vocabularySize) {
    throw invalidFile(metadata.fileName, `it names ${tokens.length} tokens and has weights for ${vocabularySize}`);
  }
  const types = metadata.optionalNumbers('tokenizer.ggml.token_type') ?? [];
  const tokenAt = (key: string) => specialToken(metadata, tokens, key);
  const vocabulary: TokenizerVocabulary = {
    tokens,
    added: addedOf(tokens, types),
    bos: tokenAt('bos_token_id'),
    eos: tokenAt('eos_token_id'),
    unknown: tokenAt('unknown_token_id'),
  };
  const kind = metadata.text('tokenizer.ggml.model');
  const tokenizerJson = kind === 'llama' ? sentencePiece(metadata, vocabulary) : byteLevel(metadata, vocabulary, kind);
  return {
    tokenizerJson,
    tokenizerConfig: tokenizerConfig(metadata, vocabulary, kind),
    bosTokenId: vocabulary.bos?.id ?? null,
    eosTokenIds: endTokenIds(vocabulary, tokenAt('eot_token_id')),
  };
}

interface TokenizerVocabulary {
  tokens: string[];
  added: AddedToken[];
  bos: AddedToken | null;
  eos: AddedToken | null;
  unknown: AddedToken | null;
}

function addedOf(tokens: string[], types: number[]): AddedToken[] {
  const outside = new Set<number>([tokenType.unknown, tokenType.control, tokenType.userDefined]);
  return tokens.flatMap((content, id) => {
    const type = types[id] ?? 0;
    return outside.has(type) ? [{ id, content, special: type !== tokenType.userDefined }] : [];
  });
}

function specialToken(metadata: GgufMetadata, tokens: string[], key: string): AddedToken | null {
  const id = metadata.optionalNumber(`tokenizer.ggml.${key}`);
  const content = id === null ? undefined : tokens[id];
  return id === null || content === undefined ? null : { id, content, special: true };
}

function sentencePiece(metadata: GgufMetadata, vocabulary: TokenizerVocabulary): Record<string, unknown> {
  const scores = metadata.optionalNumbers('tokenizer.ggml.scores');
  if (!scores) throw invalidFile(metadata.fileName, 'its tokenizer comes without scores');
  return sentencePieceTokenizerJson({
    ...vocabulary,
    pieces: vocabulary.tokens,
    scores,
    addsBos: metadata.flag('tokenizer.ggml.add_bos_token', true),
    addsEos: metadata.flag('tokenizer.ggml.add_eos_token', false),
    addsSpace: metadata.flag('tokenizer.ggml.add_space_prefix', true),
  });
}

function byteLevel(metadata: GgufMetadata, vocabulary: TokenizerVocabulary, kind: string): Record<string, unknown> {
  if (kind !== 'gpt2') throw invalidFile(metadata.fileName, `its tokenizer ${kind} is not known; llama and gpt2 are`);
  const rule = metadata.text('tokenizer.ggml.pre', 'default');
  const wordPattern = Object.hasOwn(wordPatterns, rule) ? wordPatterns[rule] : undefined;
  if (wordPattern === undefined)
    throw invalidFile(metadata.fileName, `its tokenizer splits words by the unknown ${rule}`);
  return byteLevelTokenizerJson({
    ...vocabulary,
    merges: metadata.texts('tokenizer.ggml.merges'),
    addsBos: metadata.flag('tokenizer.ggml.add_bos_token', rule === 'llama-bpe'),
    addsEos: metadata.flag('tokenizer.ggml.add_eos_token', false),
    wordPattern,
  });
}

function tokenizerConfig(
  metadata: GgufMetadata,
  vocabulary: TokenizerVocabulary,
  kind: string,
): Record<string, unknown> {
  const template = metadata.has('tokenizer.chat_template') ? metadata.text('tokenizer.chat_template') : undefined;
  return {
    tokenizer_class: kind === 'llama' ? 'LlamaTokenizer' : 'PreTrainedTokenizerFast',
    bos_token: vocabulary.bos?.content ?? null,
    eos_token: vocabulary.eos?.content ?? null,
    unk_token: vocabulary.unknown?.content ?? null,
    add_bos_token: metadata.flag('tokenizer.ggml.add_bos_token', kind === 'llama'),
    add_eos_token: metadata.flag('tokenizer.ggml.add_eos_token', false),
    clean_up_tokenization_spaces: false,
    ...(kind === 'llama' ? { legacy: true } : {}),
    ...(template === undefined ? {} : { chat_template: template }),
  };
}

function endTokenIds(vocabulary: TokenizerVocabulary, endOfTurn: AddedToken | null): number[] {
  const known = vocabulary.added.filter((token) => token.special && endTokens.has(token.content));
  const ids = [vocabulary.eos, endOfTurn, ...known].flatMap((token) => (token ? [token.id] : []));
  return [...new Set(ids)];
}
