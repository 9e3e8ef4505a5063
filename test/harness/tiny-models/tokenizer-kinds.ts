import { byteLevelTokenizer, sentencePieceTokenizer } from './tiny-tokenizer.js';

/*
 * Tokenizers of every kind whose vocabularies hold the control tokens of many models, so that any chat template can be
 * tested with any of them.
 */

/** Texts of control tokens, as chat templates and encoders write them. */
export const controlTexts = [
  ...['<s>', '</s>', '<unk>', '<|system|>', '<|user|>', '<|assistant|>', '<|end|>', '<|endoftext|>'],
  ...['<|im_start|>', '<|im_end|>', '<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>', '<|python_tag|>'],
  ...['[INST]', '[/INST]', '[TOOL_CALLS]', '[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]', '[TOOL_RESULTS]'],
  ...['[/TOOL_RESULTS]', '<start_of_turn>', '<end_of_turn>', '<｜User｜>', '<｜Assistant｜>', '<｜end▁of▁sentence｜>'],
  ...[
    '<｜tool▁calls▁begin｜>',
    '<｜tool▁calls▁end｜>',
    '<｜tool▁call▁begin｜>',
    '<｜tool▁call▁end｜>',
    '<｜tool▁sep｜>',
  ],
  ...['<｜tool▁outputs▁begin｜>', '<｜tool▁outputs▁end｜>', '<｜tool▁output▁begin｜>', '<｜tool▁output▁end｜>'],
  ...['<|start_of_role|>', '<|end_of_role|>', '<|end_of_text|>', '[CLS]', '[SEP]', 'ENDOFTURN'],
];

/** Structure that vocabularies hold as added tokens which are not special. */
export const namedTexts = ['<think>', '</think>', '<tool_call>', '</tool_call>', '<tool_response>', '</tool_response>'];

/** Added tokens of ordinary text, as Gemma and Phi have them. */
export const ordinaryTokens = ['\n\n', '   ', '<b>', '</b>', '<table>', '🐀'];

/** Members of tokenizer.json that differ between the kinds. */
interface TokenizerFile {
  added_tokens?: { id: number; content: string; special?: boolean }[];
  normalizer?: unknown;
  decoder?: unknown;
}

export interface TokenizerFiles {
  tokenizerJson: TokenizerFile;
  tokenizerConfig: { unk_token?: string | null };
}

interface Added {
  content: string;
  special: boolean;
  normalized: boolean;
}

/** Texts to be added, in the form that vocabularies have them. */
const added: readonly Added[] = [
  ...controlTexts.map((content) => ({ content, special: true, normalized: false })),
  ...namedTexts.map((content) => ({ content, special: false, normalized: false })),
  ...ordinaryTokens.map((content) => ({ content, special: false, normalized: false })),
];

function withAdded(
  files: { tokenizerJson: object; tokenizerConfig: object },
  changes: object = {},
  more = added,
): TokenizerFiles {
  const file = files.tokenizerJson as TokenizerFile & { model: { vocab: Record<string, number> } };
  const vocabulary = Object.values(file.model.vocab);
  let next = vocabulary.reduce((max, id) => Math.max(max, id), 0) + 1;
  const tokens = more.map((token) => {
    return {
      single_word: false,
      lstrip: false,
      rstrip: false,
      ...token,
      id: file.model.vocab[token.content] ?? next++,
    };
  });
  return { tokenizerJson: { ...file, ...changes, added_tokens: tokens }, tokenizerConfig: files.tokenizerConfig };
}

/** Scores as XLM-R has them: its control tokens are pieces too, with the best score of all. */
function unigram(prependScheme: 'always' | 'first'): TokenizerFiles {
  const characters = [...'abcdefghijklmnopqrstuvwxyz<>/[]|_ ▁'];
  const words = ['▁the', '▁river', 'ing', 'ist', '▁[', '|>'];
  const pieces = [
    ...controlTexts.map((text) => [text, 0]),
    ...words.map((text) => [text, -2]),
    ...characters.map((text) => [text, -6]),
  ];
  const vocab = [['<pad>', 0], ...pieces] as [string, number][];
  const ids = new Map(vocab.map(([text], id) => [text, id]));
  let next = vocab.length;
  return {
    tokenizerJson: {
      version: '1.0',
      added_tokens: added.map((token) => ({ ...token, id: ids.get(token.content) ?? next++ })),
      normalizer: { type: 'Sequence', normalizers: [{ type: 'NFKC' }] },
      pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: prependScheme, split: true },
      post_processor: null,
      decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: prependScheme, split: true },
      model: { type: 'Unigram', unk_id: vocab.findIndex(([text]) => text === '<unk>'), vocab },
    } as unknown as TokenizerFile,
    tokenizerConfig: { unk_token: '<unk>' },
  };
}

/** Words of white space only, so that a control token can be a word. */
function wordPiece(preTokenizer: string): TokenizerFiles {
  const words = ['[UNK]', ...controlTexts, ...'abcdefghijklmnopqrstuvwxyz<>/[]|_', 'river', 'the'];
  const parts = [...'abcdefghijklmnopqrstuvwxyz<>/[]|_'].map((letter) => `##${letter}`);
  const vocab = Object.fromEntries([...words, ...parts].map((word, id) => [word, id]));
  return withAdded({
    tokenizerJson: {
      version: '1.0',
      normalizer: {
        type: 'BertNormalizer',
        clean_text: true,
        handle_chinese_chars: true,
        strip_accents: null,
        lowercase: true,
      },
      pre_tokenizer: { type: preTokenizer },
      post_processor: null,
      decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
      model: {
        type: 'WordPiece',
        vocab,
        unk_token: '[UNK]',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
      },
    },
    tokenizerConfig: { unk_token: '[UNK]' },
  });
}

const bytes = byteLevelTokenizer();
const pieces = sentencePieceTokenizer();
const late = added.map((token) => ({
  ...token,
  normalized: true,
  special: token.special && !token.content.includes('｜'),
}));

/** One of each kind of tokenizer that a model of text can have. */
export const tokenizerKinds: readonly [name: string, files: TokenizerFiles][] = [
  ['byte-level BPE', withAdded(bytes)],
  ['byte-level BPE that takes whole words', withAdded({ ...bytes, tokenizerJson: wholeWords(bytes.tokenizerJson) })],
  [
    'byte-level BPE, tokens found after an empty normalizer',
    withAdded(bytes, { normalizer: { type: 'Sequence', normalizers: [] } }, late),
  ],
  [
    'byte-level BPE, tokens that take the space around them',
    withAdded(
      bytes,
      {},
      added.map((token) => ({ ...token, lstrip: true, rstrip: true })),
    ),
  ],
  ['byte-level BPE after NFC', withAdded(bytes, { normalizer: { type: 'NFC' } })],
  ['SentencePiece with a dummy prefix', withAdded(pieces)],
  ['SentencePiece with a dummy prefix, tokens found after the normalizer', withAdded(pieces, {}, late)],
  [
    'SentencePiece without a prefix',
    withAdded(pieces, { normalizer: { type: 'Replace', pattern: { String: ' ' }, content: '▁' } }),
  ],
  ['unigram, a prefix for each section', unigram('always')],
  ['unigram, a prefix for the first section', unigram('first')],
  ['WordPiece, split at punctuation', wordPiece('BertPreTokenizer')],
  ['WordPiece, split at white space', wordPiece('WhitespaceSplit')],
];

/** Llama 3 takes a word that is a token as it is; its words are those of a pattern without punctuation. */
function wholeWords(file: Record<string, unknown>): object {
  const split = { type: 'Split', pattern: { Regex: '\\s+|\\S+' }, behavior: 'Isolated', invert: false };
  const letters = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
  return {
    ...file,
    pre_tokenizer: { type: 'Sequence', pretokenizers: [split, letters] },
    model: { ...(file['model'] as object), ignore_merges: true },
  };
}
