import {
  consonants,
  followingPhone,
  inSentence,
  isFlapped,
  isVowel,
  isWeakEnding,
  stressMarks,
} from '../../speech/english/phones.js';
import type { SpokenToken } from '../../speech/english/spoken-text.js';

/*
 * CMUdict phones as the International Phonetic Alphabet in the notation of the voices' training texts: diphthongs of two
 * letters, long vowels with a length mark, stress before the vowel, and `ɾ` for the flap of American `water`.
 */

const vowels: Readonly<Record<string, string>> = {
  AA: 'ɑː',
  AE: 'æ',
  AH: 'ʌ',
  AO: 'ɔː',
  AW: 'aʊ',
  AY: 'aɪ',
  EH: 'ɛ',
  ER: 'ɜː',
  EY: 'eɪ',
  IH: 'ɪ',
  IY: 'iː',
  OW: 'oʊ',
  OY: 'ɔɪ',
  UH: 'ʊ',
  UW: 'uː',
};

/** Vowels without stress that differ from the stressed ones by more than the mark. */
const weakVowels: Readonly<Record<string, string>> = { AH: 'ə', ER: 'ɚ', IY: 'i' };

/** Marks that the voices pause at; of others the nearest. */
const marks: Readonly<Record<string, string>> = {
  ',': ',',
  '.': '.',
  '!': '!',
  '?': '?',
  ':': ':',
  ';': ';',
  '—': ',',
  '…': '.',
};

/** Returns the phonemes of an English sentence, with spaces between words; marks follow their word. */
export function piperPhonemes(tokens: readonly SpokenToken[]): string {
  let text = '';
  for (const [index, token] of tokens.entries()) {
    if ('mark' in token) {
      text += marks[token.mark] ?? '';
    } else {
      text += `${text === '' ? '' : ' '}${wordPhonemes(token, followingPhone(tokens, index))}`;
    }
  }
  return text.trim();
}

function wordPhonemes({ word, phones }: Extract<SpokenToken, { word: string }>, next: string | undefined): string {
  const lower = word.toLowerCase();
  if (lower === 'the') return isVowel(next) ? 'ðɪ' : 'ðə';
  if (word === 'a') return 'ɐ';
  if (lower === 'an' && next !== undefined) return 'ɐn';
  if (lower === 'to' && next !== undefined) return isVowel(next) ? 'tʊ' : 'tə';
  const symbols = phones.map((phone, index) => phonemeAt(phones, index, phone)).join('');
  return inSentence(word, symbols, next);
}

function phonemeAt(phones: readonly string[], index: number, phone: string): string {
  const [before, after] = [phones[index - 1], phones[index + 1]];
  if ((phone === 'T' || phone === 'D') && isFlapped(before, after, phones[index + 2])) return 'ɾ';
  if (!isVowel(phone)) return consonants[phone] ?? '';
  const name = phone.slice(0, -1);
  const stress = phone.slice(-1);
  if (stress !== '0') return `${stressMarks[stress] ?? ''}${vowels[name] ?? ''}`;
  if (name === 'AH' && index === 0) return 'ɐ';
  if (isWeakEnding(phones, index)) return 'ᵻ';
  return weakVowels[name] ?? vowels[name] ?? '';
}
