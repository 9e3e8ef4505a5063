import type { EmittedToken } from './duration-decoder.js';

/** A word with its punctuation. */
export interface SpokenWord {
  /** Includes the leading space. */
  text: string;
  tokens: number[];
  /** Seconds from the start of the window. */
  start: number;
  end: number;
  /** Mean probability of its tokens, 0 to 1. */
  probability: number;
}

export interface WordOptions {
  textOf(id: number): string;
  secondsPerFrame: number;
}

/** Scripts that are written without spaces; each of their pieces counts as a word. */
const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const spoken = /[\p{L}\p{N}]/u;
const sentenceEnd = /[.!?…。！？]["'”’»)\]]*$/u;

/** Joins tokens to words. Punctuation belongs to the word before it and takes no time. */
export function joinWords(emitted: readonly EmittedToken[], { textOf, secondsPerFrame }: WordOptions): SpokenWord[] {
  const groups: { text: string; tokens: EmittedToken[] }[] = [];
  for (const token of emitted) {
    const text = textOf(token.id);
    const last = groups.at(-1);
    if (text === '') continue;
    if (last === undefined || text.startsWith(' ') || unspaced.test(text)) groups.push({ text, tokens: [token] });
    else {
      last.text += text;
      last.tokens.push(token);
    }
  }
  return groups.map(({ text, tokens }, index) => {
    const start = tokens[0]?.frame ?? 0;
    const last = tokens.findLast(({ id }) => spoken.test(textOf(id))) ?? tokens.at(-1);
    // A word takes a frame at least, unless the next one begins in the same.
    const end = last === undefined ? start : last.frame + Math.max(1, last.duration);
    const next = groups[index + 1]?.tokens[0]?.frame ?? Infinity;
    const probabilities = tokens.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
    return {
      text,
      tokens: tokens.map(({ id }) => id),
      start: start * secondsPerFrame,
      end: Math.min(end, next) * secondsPerFrame,
      probability: probabilities / tokens.length,
    };
  });
}

/** Splits words into sentences, by their punctuation. */
export function splitSentences(words: readonly SpokenWord[]): SpokenWord[][] {
  const sentences: SpokenWord[][] = [];
  let current: SpokenWord[] = [];
  for (const word of words) {
    current.push(word);
    if (!sentenceEnd.test(word.text)) continue;
    sentences.push(current);
    current = [];
  }
  return current.length === 0 ? sentences : [...sentences, current];
}
