import type { SpeechBreak } from '../engines/speech.js';
import { endsWithAbbreviation } from './english/abbreviations.js';

/** Piece of a text that is synthesized in one run. */
export interface Sentence {
  text: string;
  /** Code points of the input that it covers, including surrounding space; all pieces together cover the input. */
  characters: number;
  before: SpeechBreak;
}

/** Longest piece. Longer sentences are split at a clause to bound the wait for the first audio and for a cancel. */
const longestPiece = 200;

/**
 * Marks that end a sentence, and the closing marks after them. Both groups match all or nothing (`(?=(…))\1`), so a
 * text of a hundred thousand stops takes no longer than others.
 */
const sentenceEnd = /(?<![.!?…。！？])(?=([.!?…。！？]+))\1(?=(["'”’»)\]}]*))\2(?=\s|$)|[。！？]/gu;

/** Number of last characters that decide whether a sentence has ended. */
const tailLength = 64;

/**
 * Splits a text into sentences. A line break ends a sentence unless the next line continues in lower case, as wrapped
 * text does. An empty line ends a paragraph. Text without anything to speak also yields pieces, because it is still
 * counted.
 */
export function splitSentences(text: string): Sentence[] {
  const pieces: Sentence[] = [];
  for (const paragraph of paragraphsOf(text)) {
    const sentences = paragraph.split('\u0000').flatMap((line) => cutSentences(line));
    for (const [index, sentence] of sentences.entries()) {
      const isLast = index === sentences.length - 1;
      pieces.push(...cutClauses(sentence, isLast ? 'paragraph' : 'sentence'));
    }
  }
  const last = pieces.at(-1);
  if (last !== undefined) last.before = 'end';
  return pieces;
}

/** Splits into paragraphs with their trailing space. A NUL marks each line break that ends a sentence. */
function paragraphsOf(text: string): string[] {
  const paragraphs = text
    .replaceAll('\u0000', ' ')
    .replaceAll(/\n[^\S\n]*\n\s*/gu, (found) => `${found}\u0000`)
    .split('\u0000')
    .filter((paragraph) => paragraph !== '');
  return paragraphs.map((paragraph) =>
    paragraph.replaceAll(/\n[^\S\n]*(?=[^\s\p{Ll}])/gu, (found) => `${found}\u0000`),
  );
}

/** Splits one line into sentences with their trailing space. */
function cutSentences(line: string): string[] {
  const sentences: string[] = [];
  let start = 0;
  for (const match of line.matchAll(sentenceEnd)) {
    const end = match.index + match[0].length;
    const next = /^\s*(\S?)/u.exec(line.slice(end, end + 64));
    const after = next?.[1] ?? '';
    if (after === '' || goesOn(line.slice(Math.max(start, end - tailLength), end), after)) continue;
    const space = next?.[0].length ?? 0;
    sentences.push(line.slice(start, end + space - after.length));
    start = end + space - after.length;
  }
  sentences.push(line.slice(start));
  return sentences.filter((sentence) => sentence !== '');
}

/**
 * Returns true if an apparent end is not one: the stop of an abbreviation, initial or list number, or a quotation
 * inside a sentence.
 */
function goesOn(sentence: string, after: string): boolean {
  if (/[!?]["'”’»]+$/u.test(sentence) && /\p{Ll}/u.test(after)) return true;
  if (!/\.["'”’»)\]}]*$/u.test(sentence)) return false;
  if (/\p{Ll}/u.test(after)) return true;
  if (/(?:^|\s)\p{Lu}\.$/u.test(sentence)) return true;
  if (/^\s*\d{1,3}\.$/u.test(sentence)) return true;
  return endsWithAbbreviation(sentence, after);
}

function cutClauses(sentence: string, before: SpeechBreak): Sentence[] {
  const pieces: Sentence[] = [];
  let rest = sentence;
  while (rest.length > longestPiece) {
    const end = clauseEnd(rest);
    pieces.push(pieceOf(rest.slice(0, end), 'clause'));
    rest = rest.slice(end);
  }
  pieces.push(pieceOf(rest, before));
  return pieces;
}

/** Returns where to split a long text: after the last clause that fits, else after the last word, else anywhere. */
function clauseEnd(text: string): number {
  const head = text.slice(0, longestPiece);
  for (const pattern of [/^.*[;:—–](?:\s|(?=\s))/su, /^.*,\s/su, /^.*\s/su]) {
    const found = pattern.exec(head)?.[0].length ?? 0;
    if (found > longestPiece / 4) return found;
  }
  // Never splits a surrogate pair.
  return /[\uD800-\uDBFF]$/u.test(head) || /[\uD800-\uDBFF]/.test(head.at(-1) ?? '') ? longestPiece - 1 : longestPiece;
}

function pieceOf(text: string, before: SpeechBreak): Sentence {
  return { text: text.trim(), characters: [...text].length, before };
}
