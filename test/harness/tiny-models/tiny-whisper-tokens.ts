import { byteLevelTokenizer } from './tiny-tokenizer.js';

/** Tokens of a tiny Whisper and their successors. */
export interface TinyWhisperTokens {
  files: Record<string, object>;
  vocabularySize: number;
  endOfText: number;
  /** Successor by token; the end token if there is none. */
  next: number[];
}

const timestamps = 1_501;
const heads = [
  '<|startoftranscript|>',
  '<|en|>',
  '<|de|>',
  '<|translate|>',
  '<|transcribe|>',
  '<|startofprev|>',
  '<|nospeech|>',
];

/**
 * The byte-level tokenizer with Whisper's special tokens and one token per word of `text`. Every token has one
 * successor: from the start to English, the words, their end time, and the end. The task of translation leads to the
 * words of `translation`, where timestamps are written. No word is in both.
 */
export function tinyWhisperTokens(text: string, seconds: number, translation: string): TinyWhisperTokens {
  const base = byteLevelTokenizer();
  const tokensOf = (from: number, words: string[]) =>
    words.map((word, index) => ({ content: ` ${word}`, id: base.vocabularySize + from + index }));
  const words = tokensOf(0, text.split(' '));
  const translated = tokensOf(words.length, translation.split(' '));
  const start = base.vocabularySize + words.length + translated.length;
  const times = Array.from({ length: timestamps }, (_, index) => `<|${(index * 0.02).toFixed(2)}|>`);
  const marks = ['<|endoftext|>', ...heads, '<|notimestamps|>', ...times];
  const idOf = (mark: string): number => start + marks.indexOf(mark);
  const added = [
    ...[...words, ...translated].map((word) => ({ ...word, special: false })),
    ...marks.map((content, index) => ({ content, id: start + index, special: true })),
  ].map((token) => ({ ...token, single_word: false, lstrip: false, rstrip: false, normalized: false }));
  const vocabularySize = start + marks.length;
  const endOfText = idOf('<|endoftext|>');
  const next = Array.from({ length: vocabularySize }, () => endOfText);
  const chain = ['<|startoftranscript|>', '<|en|>', '<|transcribe|>', '<|0.00|>'].map(idOf);
  const path = [...chain, ...words.map(({ id }) => id), idOf(`<|${seconds.toFixed(2)}|>`), endOfText];
  const translationStart = ['<|translate|>', '<|0.02|>'].map(idOf);
  const translationPath = [...translationStart, ...translated.map(({ id }) => id), idOf(`<|${seconds.toFixed(2)}|>`)];
  for (const steps of [path, translationPath]) {
    for (const [index, token] of steps.slice(0, -1).entries()) next[token] = steps[index + 1] ?? endOfText;
  }
  next[idOf('<|notimestamps|>')] = words[0]?.id ?? endOfText;
  const model = base.tokenizerJson.model as { vocab: Record<string, number> };
  // The special tokens of the base would be mistaken for Whisper's end.
  const vocab = Object.fromEntries(
    Object.entries(model.vocab).map(([token, id]) => [token === '<|endoftext|>' ? '<|base-end|>' : token, id]),
  );
  return {
    vocabularySize,
    endOfText,
    next,
    files: {
      'config.json': { model_type: 'whisper', num_mel_bins: 80, max_target_positions: 448, median_filter_width: 7 },
      'generation_config.json': {
        suppress_tokens: [],
        begin_suppress_tokens: [endOfText],
        max_initial_timestamp_index: 50,
        alignment_heads: [[0, 0]],
      },
      'tokenizer.json': { ...base.tokenizerJson, added_tokens: added, model: { ...model, vocab } },
      'tokenizer_config.json': { tokenizer_class: 'WhisperTokenizer', eos_token: '<|endoftext|>', bos_token: null },
    },
  };
}
