import type { SpokenToken } from './spoken-text.js';

/* What notations of English phonemes have in common: CMUdict phones, with the stress as the last digit of a vowel. */

/** CMUdict consonants in the International Phonetic Alphabet. */
export const consonants: Readonly<Record<string, string>> = {
  B: 'b',
  CH: 'tʃ',
  D: 'd',
  DH: 'ð',
  F: 'f',
  G: 'ɡ',
  HH: 'h',
  JH: 'dʒ',
  K: 'k',
  L: 'l',
  M: 'm',
  N: 'n',
  NG: 'ŋ',
  P: 'p',
  R: 'ɹ',
  S: 's',
  SH: 'ʃ',
  T: 't',
  TH: 'θ',
  V: 'v',
  W: 'w',
  Y: 'j',
  Z: 'z',
  ZH: 'ʒ',
};

export const stressMarks: Readonly<Record<string, string>> = { '1': 'ˈ', '2': 'ˌ' };

/** Function words that are unstressed in running speech. */
const unstressed = new Set(
  (
    'am an and are as at be been but by can could for from had has have he her him his i if in is it its me my of or ' +
    'our she should so than that their them they this to us was we were will with would you your'
  ).split(' '),
);

/** Returns the phonemes of a word as they are in a sentence. Before a pause, even a function word is stressed. */
export function inSentence(word: string, phonemes: string, next: string | undefined): string {
  return unstressed.has(word.toLowerCase()) && next !== undefined ? phonemes.replaceAll(/[ˈˌ]/gu, '') : phonemes;
}

/** Returns the first phone of the word behind a token; undefined at a pause. */
export function followingPhone(tokens: readonly SpokenToken[], index: number): string | undefined {
  const next = tokens[index + 1];
  return next !== undefined && 'phones' in next ? next.phones[0] : undefined;
}

export function isVowel(phone: string | undefined): boolean {
  return phone !== undefined && /\d$/u.test(phone);
}

/** True between vowels before a weak vowel that is not syllabic: `water`, `city`, `party`; not `button`. */
export function isFlapped(
  before: string | undefined,
  after: string | undefined,
  afterThat: string | undefined,
): boolean {
  if (!isVowel(before) && before !== 'R') return false;
  return /^[A-Z]+0$/u.test(after ?? '') && !(after === 'AH0' && afterThat === 'N');
}

/** True for the weak vowel of `wanted` and `voices`. */
export function isWeakEnding(phones: readonly string[], index: number): boolean {
  const [before = '', phone, after] = [phones[index - 1], phones[index], phones[index + 1]];
  if (phone !== 'IH0' && phone !== 'AH0') return false;
  return index === phones.length - 2 && (after === 'D' || after === 'Z') && /^(?:T|D|S|Z|SH|ZH|CH|JH)$/u.test(before);
}
