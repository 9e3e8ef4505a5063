import { followingPhone, inSentence, isFlapped, isVowel, isWeakEnding } from '../../speech/english/phones.js';
import type { SpokenToken } from '../../speech/english/spoken-text.js';
import { britishPhonemes } from './kokoro.british.js';
import { plainSymbol } from './kokoro.symbols.js';

/*
 * Maps CMUdict phones to the symbols Kokoro was trained with. These are IPA with single letters for diphthongs, stress
 * before the vowel, `T` for the flap of American `water`, and `ᵊ` and `ᵻ` for the weakest vowels.
 */

export type Accent = 'american' | 'british';

/** Weak vowels, flaps and syllabic consonants of American English. */
function americanPhonemes(phones: readonly string[]): string {
  return phones
    .map((phone, index) => {
      const [before, after, afterThat] = [phones[index - 1], phones[index + 1], phones[index + 2]];
      const isLast = index === phones.length - 1;
      if (phone === 'T' && isFlapped(before, after, afterThat)) return 'T';
      if (phone === 'AH0' && after === 'L' && before !== undefined && !isVowel(before) && !isVowel(afterThat))
        return 'ᵊ';
      if (phone === 'AH0' && after === 'N' && (before === 'T' || before === 'D') && !isVowel(afterThat)) return 'ᵊ';
      if (isWeakEnding(phones, index)) return 'ᵻ';
      return phone === 'IY0' && !isLast && isVowel(after) ? 'i' : plainSymbol(phone);
    })
    .join('');
}

/** Returns the symbols of a sentence with spaces between words. Marks follow their word without a space. */
export function kokoroPhonemes(tokens: readonly SpokenToken[], accent: Accent): string {
  let text = '';
  for (const [index, token] of tokens.entries()) {
    if ('mark' in token) {
      text += spacedMark(token.mark, text);
      continue;
    }
    const leans = /[(\s]$/u.test(text) || (text.endsWith('"') && isInsideQuotes(text));
    text += `${text === '' || leans ? '' : ' '}${wordPhonemes(token, followingPhone(tokens, index), accent)}`;
  }
  return text.trim();
}

function spacedMark(mark: string, text: string): string {
  if (mark === '(' || mark === '—') return text === '' ? mark : ` ${mark}`;
  if (mark === '"') return isInsideQuotes(text) || text === '' ? mark : ` ${mark}`;
  return mark;
}

function isInsideQuotes(text: string): boolean {
  return (text.split('"').length - 1) % 2 === 1;
}

function wordPhonemes(
  { word, phones }: Extract<SpokenToken, { word: string }>,
  next: string | undefined,
  accent: Accent,
): string {
  const lower = word.toLowerCase();
  if (lower === 'the') return isVowel(next) ? 'ði' : 'ðə';
  if (word === 'a') return accent === 'american' ? 'ɐ' : 'ə';
  if (lower === 'to' && next !== undefined) return isVowel(next) ? 'tʊ' : 'tə';
  const symbols = accent === 'american' ? americanPhonemes(phones) : britishPhonemes(lower, phones);
  return inSentence(word, symbols, next);
}
