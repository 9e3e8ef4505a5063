import type { SpokenToken } from '../../speech/english/spoken-text.js';

/*
 * CMUdict phones as the International Phonetic Alphabet in the notation of the voices' training texts: diphthongs of two
 * letters, long vowels with a length mark, stress before the vowel, and `ɾ` for the flap of American `water`.
 */

const consonants: Readonly<Record<string, string>> = {
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

const stressMarks: Readonly<Record<string, string>> = { '1': 'ˈ', '2': 'ˌ' };

/** Function words that lose their stress inside a sentence. */
const unstressed = new Set(
  (
    'am an and are as at be been but by can could for from had has have he her him his i if in is it its me my of or ' +
    'our she should so than that their them they this to us was we were will with would you your'
  ).split(' '),
);

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

function followingPhone(tokens: readonly SpokenToken[], index: number): string | undefined {
  const next = tokens[index + 1];
  return next !== undefined && 'phones' in next ? next.phones[0] : undefined;
}

function wordPhonemes({ word, phones }: Extract<SpokenToken, { word: string }>, next: string | undefined): string {
  const lower = word.toLowerCase();
  if (lower === 'the') return isVowel(next) ? 'ðɪ' : 'ðə';
  if (word === 'a') return 'ɐ';
  if (lower === 'an' && next !== undefined) return 'ɐn';
  if (lower === 'to' && next !== undefined) return isVowel(next) ? 'tʊ' : 'tə';
  const symbols = phones.map((phone, index) => phonemeAt(phones, index, phone)).join('');
  return unstressed.has(lower) && next !== undefined ? symbols.replaceAll(/[ˈˌ]/gu, '') : symbols;
}

function phonemeAt(phones: readonly string[], index: number, phone: string): string {
  const [before, after] = [phones[index - 1], phones[index + 1]];
  if ((phone === 'T' || phone === 'D') && isFlapped(before, after, phones[index + 2])) return 'ɾ';
  if (!isVowel(phone)) return consonants[phone] ?? '';
  const name = phone.slice(0, -1);
  const stress = phone.slice(-1);
  if (stress !== '0') return `${stressMarks[stress] ?? ''}${vowels[name] ?? ''}`;
  if (name === 'AH' && index === 0) return 'ɐ';
  if ((name === 'IH' || name === 'AH') && isEnding(phones, index)) return 'ᵻ';
  return weakVowels[name] ?? vowels[name] ?? '';
}

/** True for the vowel of `wanted` and `voices`. */
function isEnding(phones: readonly string[], index: number): boolean {
  const [before = '', after] = [phones[index - 1], phones[index + 1]];
  return index === phones.length - 2 && (after === 'D' || after === 'Z') && /^(?:T|D|S|Z|SH|ZH|CH|JH)$/u.test(before);
}

/** True between a vowel, or an `r`, and a weak vowel that is not the one of `button`. */
function isFlapped(before: string | undefined, after: string | undefined, afterThat: string | undefined): boolean {
  if (!isVowel(before) && before !== 'R') return false;
  return /^[A-Z]+0$/u.test(after ?? '') && !(after === 'AH0' && afterThat === 'N');
}

function isVowel(phone: string | undefined): boolean {
  return phone !== undefined && /\d$/u.test(phone);
}
