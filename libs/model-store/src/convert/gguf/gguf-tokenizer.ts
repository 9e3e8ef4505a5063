import { invalidFile } from '../invalid-file.js';
import { byteLevelTokenizerJson } from '../tokenizer/byte-level-tokenizer.js';
import { sentencePieceTokenizerJson } from '../tokenizer/sentencepiece-tokenizer.js';
import type { AddedToken } from '../tokenizer/tokenizer-json.js';
import { type WordRule, wordRules } from '../tokenizer/word-rules.js';
import type { GgufMetadata } from './gguf-metadata.js';

/** `tokenizer.ggml.token_type`. */
const tokenType = { unknown: 2, control: 3, userDefined: 4, unused: 5 } as const;

/** Control tokens that end a response in common chat formats, because the metadata names only one. */
const endTokens = new Set([
  '</s>',
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|end_of_sentence|>',
  '<｜end▁of▁sentence｜>',
  '<|END_OF_TURN_TOKEN|>',
  '<end_of_turn>',
  '<turn|>',
  '<|tool_response>',
  '<eos>',
  '<|return|>',
  '<|call|>',
]);

/** Where messages have several parts, `<|end|>` ends a part, and this token the response. */
const responseEnd = '<|return|>';

/** Vocabularies of pieces of text with `▁` for spaces: merged by scores, or by a list (Gemma 4). */
const piecesKinds = new Set(['llama', 'gemma4']);

/** Ids that SentencePiece vocabularies have where the file does not name them. */
const sentencePieceIds: Record<string, number> = { unknown_token_id: 0, bos_token_id: 1, eos_token_id: 2 };

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
  const kind = metadata.text('tokenizer.ggml.model');
  const types = perToken(metadata, 'token_type', tokens) ?? [];
  const isPieces = piecesKinds.has(kind);
  const tokenAt = (key: string) => specialToken(metadata, tokens, key, kind === 'llama');
  const vocabulary: TokenizerVocabulary = {
    tokens,
    added: addedOf(tokens, types, isPieces),
    bos: tokenAt('bos_token_id'),
    eos: tokenAt('eos_token_id'),
    unknown: tokenAt('unknown_token_id'),
  };
  const tokenizerJson = isPieces ? sentencePiece(metadata, vocabulary, kind) : byteLevel(metadata, vocabulary, kind);
  return {
    tokenizerJson,
    tokenizerConfig: tokenizerConfig(metadata, vocabulary, kind),
    bosTokenId: vocabulary.bos?.id ?? null,
    eosTokenIds: endTokenIds(vocabulary, [tokenAt('eot_token_id'), tokenAt('eom_token_id')]),
  };
}

/** Reads a list with a number for each token; null if it is missing. */
function perToken(metadata: GgufMetadata, name: string, tokens: readonly string[]): number[] | null {
  const key = `tokenizer.ggml.${name}`;
  const values = metadata.optionalNumbers(key);
  if (values === null || values.length === tokens.length) return values;
  throw invalidFile(metadata.fileName, `its \`${key}\` has ${values.length} entries for ${tokens.length} tokens`);
}

interface TokenizerVocabulary {
  tokens: string[];
  added: AddedToken[];
  bos: AddedToken | null;
  eos: AddedToken | null;
  unknown: AddedToken | null;
}

function addedOf(tokens: string[], types: number[], isSentencePiece: boolean): AddedToken[] {
  const outside = new Set<number>([tokenType.unknown, tokenType.control, tokenType.userDefined]);
  return tokens.flatMap((token, id) => {
    const type = types[id] ?? 0;
    if (!outside.has(type)) return [];
    const special = type !== tokenType.userDefined;
    // Tokens outside the merges are found in the text before its spaces are replaced.
    const content = isSentencePiece && !special ? token.replaceAll('▁', ' ') : token;
    return [{ id, content, special }];
  });
}

function specialToken(
  metadata: GgufMetadata,
  tokens: string[],
  key: string,
  isSentencePiece: boolean,
): AddedToken | null {
  const usual = isSentencePiece ? (sentencePieceIds[key] ?? null) : null;
  const id = metadata.optionalNumber(`tokenizer.ggml.${key}`) ?? usual;
  const content = id === null ? undefined : tokens[id];
  return id === null || content === undefined ? null : { id, content, special: true };
}

/** Special tokens of Phi 3 that keep the spaces after them; the file does not say which drop them. */
const keepSpaces = new Set(['<unk>', '<s>', '<|endoftext|>']);

function sentencePiece(metadata: GgufMetadata, vocabulary: TokenizerVocabulary, kind: string): Record<string, unknown> {
  const isListed = kind !== 'llama';
  const scores = perToken(metadata, 'scores', vocabulary.tokens) ?? (isListed ? [] : null);
  if (!scores) throw invalidFile(metadata.fileName, 'its tokenizer comes without scores');
  const isPhi3 = metadata.text('general.architecture', '') === 'phi3';
  const added = vocabulary.added.map((token) =>
    isPhi3 && token.special && !keepSpaces.has(token.content) ? { ...token, rstrip: true } : token,
  );
  return sentencePieceTokenizerJson({
    ...vocabulary,
    added,
    pieces: vocabulary.tokens,
    scores,
    ...(isListed && { merges: mergesOf(metadata, vocabulary.tokens) }),
    addsBos: addsBos(metadata, kind),
    addsEos: metadata.flag('tokenizer.ggml.add_eos_token', false),
    addsSpace: metadata.flag('tokenizer.ggml.add_space_prefix', !isListed),
  });
}

function byteLevel(metadata: GgufMetadata, vocabulary: TokenizerVocabulary, kind: string): Record<string, unknown> {
  if (kind !== 'gpt2')
    throw invalidFile(metadata.fileName, `its tokenizer ${kind} is not known; llama, gemma4 and gpt2 are`);
  const words = wordRuleOf(metadata);
  return byteLevelTokenizerJson({
    ...vocabulary,
    merges: mergesOf(metadata, vocabulary.tokens),
    addsBos: addsBos(metadata, kind),
    addsEos: metadata.flag('tokenizer.ggml.add_eos_token', false),
    addsSpace: metadata.flag('tokenizer.ggml.add_space_prefix', false),
    words,
  });
}

function wordRuleOf(metadata: GgufMetadata): WordRule {
  const name = metadata.text('tokenizer.ggml.pre', 'default');
  const rule = wordRules.get(name);
  if (rule) return rule;
  const shown = name.slice(0, 80);
  const known = [...wordRules.keys()].join(', ');
  throw invalidFile(metadata.fileName, `its tokenizer splits words by the unknown ${shown}; known are ${known}`);
}

/** Reads the merges, of which each joins two tokens to a third. */
function mergesOf(metadata: GgufMetadata, tokens: readonly string[]): string[] {
  const merges = metadata.texts('tokenizer.ggml.merges');
  const known = new Set(tokens);
  merges.forEach((merge, index) => {
    const space = merge.indexOf(' ', 1);
    const [left, right] = [merge.slice(0, space), merge.slice(space + 1)];
    const isValid = space > 0 && known.has(left) && known.has(right) && known.has(left + right);
    if (!isValid) throw invalidFile(metadata.fileName, `its merge ${index} joins no two tokens to a third`);
  });
  return merges;
}

function addsBos(metadata: GgufMetadata, kind: string): boolean {
  // The first files of Gemma 4 deny it.
  if (kind === 'gemma4') return true;
  return metadata.flag('tokenizer.ggml.add_bos_token', kind === 'llama' || wordRuleOf(metadata).addsBos === true);
}

function tokenizerConfig(
  metadata: GgufMetadata,
  vocabulary: TokenizerVocabulary,
  kind: string,
): Record<string, unknown> {
  const template = chatTemplate(metadata);
  return {
    tokenizer_class: kind === 'llama' ? 'LlamaTokenizer' : 'PreTrainedTokenizerFast',
    bos_token: vocabulary.bos?.content ?? null,
    eos_token: vocabulary.eos?.content ?? null,
    unk_token: vocabulary.unknown?.content ?? null,
    add_bos_token: addsBos(metadata, kind),
    add_eos_token: metadata.flag('tokenizer.ggml.add_eos_token', false),
    clean_up_tokenization_spaces: false,
    ...(kind === 'llama' ? { legacy: true } : {}),
    ...(template === undefined ? {} : { chat_template: template }),
  };
}

type ChatTemplate = string | { name: string; template: string }[];

/** Returns the template; several by their names if the file has more than one. */
function chatTemplate(metadata: GgufMetadata): ChatTemplate | undefined {
  const key = 'tokenizer.chat_template';
  const template = metadata.has(key) ? metadata.text(key) : undefined;
  const names = metadata.has('tokenizer.chat_templates') ? metadata.texts('tokenizer.chat_templates') : [];
  const others = names
    .filter((name) => name !== 'default')
    .map((name) => ({ name, template: metadata.text(`${key}.${name}`) }));
  if (others.length === 0) return template;
  return [...(template === undefined ? [] : [{ name: 'default', template }]), ...others];
}

function endTokenIds(vocabulary: TokenizerVocabulary, ends: (AddedToken | null)[]): number[] {
  const { added, eos } = vocabulary;
  const hasParts = added.some(({ content }) => content === responseEnd);
  const known = added.filter(
    ({ special, content }) => special && endTokens.has(content) && !(hasParts && content === '<|end|>'),
  );
  const ids = [eos, ...ends, ...known].flatMap((token) => (token ? [token.id] : []));
  return [...new Set(ids)];
}
