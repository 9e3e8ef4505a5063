import type { WordPiece } from './word-piece.js';

/** Pieces that one token of the vocabulary stands for, at most. */
export const piecesPerToken = 6;

const startToken = '<|startoftext|>';
const endToken = '<|endoftext|>';
const endOfWord = '</w>';

/** The tokenizer of a prompt encoder in the CLIP format, and what its tokens mean to a BERT. */
export interface ClipVocabulary {
  /** In the order of their ids. */
  tokens: string[];
  /** Pairs of tokens, in the order in which they are joined. */
  merges: [string, string][];
  /** `[tokens, piecesPerToken]`: WordPiece ids of each token; 0 fills up. */
  pieces: Int32Array;
}

/**
 * Builds a CLIP vocabulary whose tokens are the words of a WordPiece vocabulary and more words. The merges build each
 * known word from its end to its beginning. Only one of them applies at a time, so that a known word always becomes one
 * token.
 */
export function buildClipVocabulary(wordPiece: WordPiece, moreWords: readonly string[]): ClipVocabulary {
  const words = sortedWords([...wordPiece.words(), ...moreWords.filter((word) => unitsOf(word).length > 1)]);
  const merges = mergesOf(words);
  const units = Array.from({ length: 256 }, (_, byte) => unitOfByte(byte));
  const tokens = [...units, ...units.map((unit) => unit + endOfWord), ...merges.map((pair) => pair.join(''))];
  const whole = new Map(words.map((word) => [unitsOf(word).join('') + endOfWord, word]));
  const pieces = new Int32Array((tokens.length + 2) * piecesPerToken);
  tokens.forEach((token, id) => {
    const word = whole.get(token);
    const ids = word === undefined ? piecesOfPart(token, wordPiece) : wordPiece.encode(word);
    pieces.set(ids.slice(0, piecesPerToken), id * piecesPerToken);
  });
  return { tokens: [...tokens, startToken, endToken], merges, pieces };
}

/** The files of the tokenizer, by name. */
export function clipFiles({ tokens, merges }: ClipVocabulary, length: number): Record<string, string> {
  // An object would sort the digits among its keys to the front.
  const ids = tokens.map((token, id) => `${JSON.stringify(token)}:${id}`);
  const config = { model_max_length: length, pad_token: endToken, tokenizer_class: 'CLIPTokenizer' };
  return {
    'vocab.json': `{${ids.join(',')}}`,
    'merges.txt': `#version: 0.2\n${merges.map((pair) => pair.join(' ')).join('\n')}\n`,
    'tokenizer_config.json': `${JSON.stringify(config)}\n`,
  };
}

function sortedWords(words: readonly string[]): string[] {
  const compare = (left: string, right: string): number => (left < right ? -1 : Number(left > right));
  return [...new Set(words)].sort((left, right) => left.length - right.length || compare(left, right));
}

function mergesOf(words: readonly string[]): [string, string][] {
  const merges = new Map<string, [string, string]>();
  for (const word of words) {
    const units = unitsOf(word);
    let suffix = `${units.pop()}${endOfWord}`;
    for (const unit of units.reverse()) {
      merges.set(`${unit} ${suffix}`, merges.get(`${unit} ${suffix}`) ?? [unit, suffix]);
      suffix = unit + suffix;
    }
  }
  return [...merges.values()];
}

/** Returns the ids of a token that is no known word: a character, or the end of a word. */
function piecesOfPart(token: string, wordPiece: WordPiece): number[] {
  const text = textOf(token.endsWith(endOfWord) ? token.slice(0, -endOfWord.length) : token);
  if (text === null) return [];
  return [...text].length === 1 ? wordPiece.encode(text) : wordPiece.encodeContinuation(text);
}

const byteOfUnit = new Map(Array.from({ length: 256 }, (_, byte) => [unitOfByte(byte), byte]));

/** Returns the text of units; null if their bytes are only a part of a character. */
function textOf(units: string): string | null {
  const bytes = Uint8Array.from(units, (unit) => byteOfUnit.get(unit) ?? 0);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function unitsOf(word: string): string[] {
  return Array.from(new TextEncoder().encode(word), unitOfByte);
}

/** Returns the printable character that byte-level tokenizers write for a byte. */
function unitOfByte(byte: number): string {
  const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  if (isPrintable) return String.fromCharCode(byte);
  // The others are numbered from 256 on, in their order.
  if (byte <= 32) return String.fromCharCode(256 + byte);
  return String.fromCharCode(byte === 173 ? 256 + 67 : 256 + byte - 127 + 33);
}
