import { normalizeText } from './normalize-text.js';
import type { WordPronouncer } from './word-pronouncer.js';

/** A word with its phones, or a mark that affects intonation and pauses. */
export type SpokenToken = { word: string; phones: string[] } | { mark: string };

/** Matches words (also spelled ones, `U.S`) and marks of normalised text. */
const tokenPattern = /[A-Za-z](?:\.[A-Za-z])+|[A-Za-z']+|[,.!?;:—…"()]/gu;

/** Returns the spoken parts of a written sentence, in order; empty if nothing can be spoken. */
export function spokenText(text: string, pronouncer: WordPronouncer): SpokenToken[] {
  const normalized = normalizeText(text);
  const tokens = normalized.match(tokenPattern) ?? [];
  const words = tokens.filter(isWord);
  const isShouted = words.length > 2 && !/[a-z]/u.test(normalized);
  let position = 0;
  return tokens.map((token) => {
    if (!isWord(token)) return { mark: token };
    const previous = words.slice(Math.max(0, position - 3), position).reverse();
    position += 1;
    return { word: token, phones: pronouncer.pronounce(token, { previous, next: words[position] ?? null, isShouted }) };
  });
}

function isWord(token: string): boolean {
  return /[A-Za-z]/u.test(token);
}
