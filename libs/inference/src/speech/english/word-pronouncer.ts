import { heteronym } from './heteronyms.js';
import { pronounceByRule } from './letter-to-sound.js';
import type { NeuralPronouncer } from './neural-pronouncer.js';
import type { PronunciationDictionary } from './pronunciation-dictionary.js';
import { contraction, fromParts } from './word-parts.js';

const letterNames: Readonly<Record<string, string>> = {
  a: 'EY1',
  b: 'B IY1',
  c: 'S IY1',
  d: 'D IY1',
  e: 'IY1',
  f: 'EH1 F',
  g: 'JH IY1',
  h: 'EY1 CH',
  i: 'AY1',
  j: 'JH EY1',
  k: 'K EY1',
  l: 'EH1 L',
  m: 'EH1 M',
  n: 'EH1 N',
  o: 'OW1',
  p: 'P IY1',
  q: 'K Y UW1',
  r: 'AA1 R',
  s: 'EH1 S',
  t: 'T IY1',
  u: 'Y UW1',
  v: 'V IY1',
  w: 'D AH1 B AH0 L Y UW2',
  x: 'EH1 K S',
  y: 'W AY1',
  z: 'Z IY1',
};

/** Words for which the dictionary's first entry is not the usual pronunciation. */
const preferred: Readonly<Record<string, string>> = {
  and: 'AE1 N D',
  in: 'IH1 N',
  lead: 'L IY1 D',
  on: 'AO1 N',
  was: 'W AH1 Z',
  wound: 'W UW1 N D',
  your: 'Y UH1 R',
};

/** Spelled as letters in capitals; words in lower case. */
const spelledInCapitals = new Set(['AI', 'ID', 'IP', 'IT', 'OR', 'PM', 'UN', 'US', 'WHO', 'AM', 'PR', 'HR', 'ER']);

/** Cache size for guessed words, because a text repeats its names. */
const maxRemembered = 5_000;

export interface WordPosition {
  /** Words before it in the sentence, nearest first. */
  previous: readonly string[];
  next: string | null;
  /** The whole sentence is in capitals, so capitals do not mark letters to spell. */
  isShouted: boolean;
}

/** Pronounces words by the dictionary, by known parts, by the model if there is one, and finally by rules. */
export class WordPronouncer {
  private readonly guessed = new Map<string, string[]>();

  constructor(
    private readonly dictionary: PronunciationDictionary,
    private readonly model: NeuralPronouncer | null,
  ) {}

  /** Returns CMUdict phones with stress. Never empty for a word that has a letter. */
  pronounce(word: string, position: WordPosition): string[] {
    if (this.isSpelled(word, position.isShouted)) return spell(word);
    return this.known(word, position) ?? this.guess(word.toLowerCase());
  }

  private known(word: string, position: WordPosition): string[] | null {
    const lower = word.toLowerCase();
    if (lower === 'live' && /^(?:in|on|at|with|here|there|together)$/u.test(position.next ?? ''))
      return ['L', 'IH1', 'V'];
    const several = heteronym(lower, position.previous);
    if (several !== null) return several;
    if (Object.hasOwn(preferred, lower)) return preferred[lower]?.split(' ') ?? null;
    return this.dictionary.find(lower);
  }

  private isSpelled(word: string, isShouted: boolean): boolean {
    if (word.includes('.')) return true;
    if (/^[B-HJ-Zb-hj-z]$/u.test(word)) return true;
    if (!/^[A-Z]{2,}(?:s|'s)?$/u.test(word) || isShouted) return false;
    const letters = word.replace(/'?s$/u, '');
    if (spelledInCapitals.has(letters)) return true;
    // An unknown capitalised name is read if it looks like a word: long, with regular vowels.
    return (
      !this.dictionary.has(letters) &&
      !(letters.length >= 5 && /[AEIOUY]/u.test(letters) && !/[^AEIOUY]{4}/u.test(letters))
    );
  }

  private guess(word: string): string[] {
    const known = this.guessed.get(word);
    if (known !== undefined) return known;
    const phones = this.pronounceUnknown(word);
    if (this.guessed.size >= maxRemembered) this.guessed.clear();
    this.guessed.set(word, phones);
    return phones;
  }

  private pronounceUnknown(word: string): string[] {
    const joined = contraction(word, (part) => this.dictionary.find(part) ?? this.guess(part));
    if (joined !== null) return joined;
    const letters = word.replaceAll("'", '');
    if (letters !== word) return this.dictionary.find(letters) ?? this.guess(letters);
    const found = fromParts(word, this.dictionary);
    if (found !== null) return found;
    // A short word without vowels is spelled.
    if (!/[aeiouy]/u.test(word) && word.length <= 6) return spell(word);
    const guessed = this.model?.guess(word) ?? pronounceByRule(word);
    return guessed.length > 0 ? guessed : spell(word);
  }
}

/** Returns the names of the letters in order, with the main stress on the last. */
function spell(word: string): string[] {
  const plural = /^[A-Z]{2,}'?s$/u.test(word);
  const letters = [...(plural ? word.replace(/'?s$/u, '') : word).toLowerCase()].filter(
    (letter) => letter in letterNames,
  );
  const phones = letters.flatMap((letter, index) => {
    const name = (letterNames[letter] ?? '').split(' ');
    return index === letters.length - 1 ? name : name.map((phone) => phone.replace('1', '2'));
  });
  return plural ? [...phones, 'Z'] : phones;
}
