import { trainBpe } from './tiny-bpe.js';
import { tinyCorpus } from './tiny-corpus.js';

/** Files of a tokenizer, and the token data that the weight generator needs. */
export interface TinyTokenizer {
  tokenizerJson: Record<string, unknown>;
  tokenizerConfig: Record<string, unknown>;
  vocabularySize: number;
  bosTokenId: number | null;
  eosTokenIds: number[];
  /** Tokens that a random model should rarely choose: special tokens that end texts. */
  rareIds: number[];
  /** Tokens that are not whole characters. */
  byteIds: number[];
}

const mergeCount = 400;

/** Like SentencePiece exports: spaces are `▁`, unknown characters fall back to `<0xNN>`, BOS in front. */
export function sentencePieceTokenizer(): TinyTokenizer {
  const words = tinyCorpus.split(/\s+/).filter(Boolean);
  const bpe = trainBpe(
    words.map((word) => ['▁', ...word]),
    mergeCount,
  );
  const specials = ['<unk>', '<s>', '</s>'];
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  const roles = ['<|system|>', '<|user|>', '<|assistant|>'];
  const tokens = [...specials, ...bytes, ...bpe.symbols, ...roles];
  const { vocabulary, added } = numberTokens(tokens, [...specials, ...roles]);
  return {
    tokenizerJson: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: {
        type: 'Sequence',
        normalizers: [
          { type: 'Prepend', prepend: '▁' },
          { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
        ],
      },
      pre_tokenizer: null,
      post_processor: beginWith('<s>', 1),
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
      model: { ...bpeModel(vocabulary, bpe.merges), unk_token: '<unk>', fuse_unk: true, byte_fallback: true },
    },
    tokenizerConfig: {
      tokenizer_class: 'LlamaTokenizer',
      bos_token: '<s>',
      eos_token: '</s>',
      unk_token: '<unk>',
      add_bos_token: true,
      add_eos_token: false,
      legacy: true,
      clean_up_tokenization_spaces: false,
      chat_template:
        "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + eos_token }}" +
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
    },
    vocabularySize: tokens.length,
    bosTokenId: 1,
    eosTokenIds: [2],
    rareIds: [0, 1, 2, ...roles.map((role) => vocabulary[role] ?? 0)],
    byteIds: bytes.map((_, byte) => byte + specials.length),
  };
}

/** Like GPT-2 and its descendants: bytes mapped to letters, words split by a pattern, ChatML, two end tokens. */
export function byteLevelTokenizer(): TinyTokenizer {
  const letters = byteLetters();
  const spell = (text: string) => [...Buffer.from(text, 'utf8')].map((byte) => letters[byte] ?? '');
  const words = tinyCorpus.match(/ ?[A-Za-z]+| ?[^\sA-Za-z]+|\s+/g) ?? [];
  const bpe = trainBpe(words.map(spell), mergeCount);
  const specials = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];
  const learned = bpe.symbols.filter((symbol) => [...symbol].length > 1);
  const tokens = [...letters, ...learned, ...specials];
  const { vocabulary, added } = numberTokens(tokens, specials);
  const idOf = (token: string) => vocabulary[token] ?? 0;
  return {
    tokenizerJson: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      post_processor: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      model: { ...bpeModel(vocabulary, bpe.merges), unk_token: null, fuse_unk: false, byte_fallback: false },
    },
    tokenizerConfig: {
      tokenizer_class: 'GPT2Tokenizer',
      bos_token: null,
      eos_token: '<|im_end|>',
      pad_token: '<|endoftext|>',
      unk_token: null,
      add_bos_token: false,
      clean_up_tokenization_spaces: false,
      chat_template:
        "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}" +
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    },
    vocabularySize: tokens.length,
    bosTokenId: null,
    eosTokenIds: [idOf('<|im_end|>'), idOf('<|endoftext|>')],
    rareIds: specials.map(idOf),
    byteIds: letters.flatMap((letter, byte) => (byte >= 32 && byte < 127 ? [] : [idOf(letter)])),
  };
}

function numberTokens(tokens: string[], specials: string[]) {
  const vocabulary = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const added = specials.map((content) => ({
    id: vocabulary[content] ?? 0,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  return { vocabulary, added };
}

function bpeModel(vocabulary: Record<string, number>, merges: [string, string][]) {
  return {
    type: 'BPE',
    dropout: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    vocab: vocabulary,
    merges: merges.map(([left, right]) => `${left} ${right}`),
  };
}

function beginWith(token: string, id: number) {
  const special = { SpecialToken: { id: token, type_id: 0 } };
  const sequence = (name: string, type: number) => ({ Sequence: { id: name, type_id: type } });
  return {
    type: 'TemplateProcessing',
    single: [special, sequence('A', 0)],
    pair: [special, sequence('A', 0), sequence('B', 1)],
    special_tokens: { [token]: { id: token, ids: [id], tokens: [token] } },
  };
}

/** GPT-2's byte table: printable bytes map to themselves, the others to letters from U+0100 on. */
function byteLetters(): string[] {
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++));
}
