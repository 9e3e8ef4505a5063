import { splitSentences } from '../sentence-splitter.js';
import { expandAbbreviations } from './abbreviations.js';
import { dateRules } from './date-rules.js';
import { notationRules } from './notation-rules.js';
import { type NumberRule, numberRules } from './number-rules.js';
import { unitRules } from './unit-rules.js';
import { sayAddresses, sayRomanNumerals, saySymbols, splitCompounds } from './written-forms.js';

/**
 * Longest text, in UTF-16 units, that the rules see at once. Several of them take time in the square of a text of one
 * repeated character, so longer texts are normalised sentence by sentence.
 */
const longestRun = 1_000;

/** Fractions that are a single character. */
const fractions: Readonly<Record<string, string>> = {
  '½': '1/2',
  '⅓': '1/3',
  '⅔': '2/3',
  '¼': '1/4',
  '¾': '3/4',
  '⅛': '1/8',
  '⅜': '3/8',
  '⅝': '5/8',
  '⅞': '7/8',
};

/** Rules of numbers, in matching order: after the last one, no digit is left. */
export const orderedRules: readonly NumberRule[] = [...notationRules, ...dateRules, ...unitRules, ...numberRules];

/**
 * Converts written English to words and the marks that affect intonation: letters, apostrophes, spaces and
 * `,.!?;:—…"()`. Capitals stay, because they tell spelled letters from words.
 */
export function normalizeText(text: string): string {
  if (text.length <= longestRun) return normalizeRun(text);
  const runs = splitSentences(text).map((sentence) => normalizeRun(sentence.text));
  return runs.filter((run) => run !== '').join(' ');
}

function normalizeRun(text: string): string {
  let words = plainCharacters(text);
  words = sayAddresses(words);
  words = expandAbbreviations(words);
  words = sayRomanNumerals(words);
  for (const { pattern, say } of orderedRules) words = words.replaceAll(pattern, say);
  words = saySymbols(words);
  words = splitCompounds(words);
  return tidy(spelledLetters(words));
}

/** Digits that are written small above the line. */
const raised = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** Normalises quotes, dashes and spaces, and strips accents. Characters that are not displayed separate nothing. */
function plainCharacters(text: string): string {
  return text
    .replaceAll(/\p{Cf}+/gu, '')
    .replaceAll(
      /(?<=\d|\b(?:[A-Za-z]|[cdkm]m|ft|in|mi))(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})(?![⁰¹²³⁴⁵⁶⁷⁸⁹])/gu,
      (_found, minus: string, digits: string) => {
        return `^${minus === '' ? '' : '-'}${[...digits].map((digit) => raised.indexOf(digit)).join('')}`;
      },
    )
    .replaceAll(/\s?([½⅓⅔¼¾⅛⅜⅝⅞])/gu, (_found, mark: string) => ` ${fractions[mark] ?? ''}`)
    .normalize('NFKC')
    .replaceAll(/[‘’ʼ′`´]/gu, "'")
    .replaceAll(/[“”„«»]/gu, '"')
    .replaceAll(/\s*(?:--+|[–—])\s*(?!\d)/gu, ' — ')
    .replaceAll(/\.{3,}|…/gu, '… ')
    .replaceAll(/[\p{Cc}\p{Z}]+/gu, ' ')
    .normalize('NFD')
    .replaceAll(/\p{M}+/gu, '')
    .normalize('NFC')
    .replaceAll(/[ßẞ]/gu, 'ss')
    .replaceAll(/[æÆ]/gu, 'ae')
    .replaceAll(/[œŒ]/gu, 'oe')
    .replaceAll(/[øØ]/gu, 'o')
    .replaceAll(/[ðÐ]/gu, 'd')
    .replaceAll(/[þÞ]/gu, 'th')
    .replaceAll(/[łŁ]/gu, 'l');
}

/** `U.S.` → `U.S`: letters separated by full stops are spelled. The last stop stays if it ends the sentence. */
function spelledLetters(text: string): string {
  return text.replaceAll(
    /(?<![A-Za-z'])((?:[A-Za-z]\.)+[A-Za-z])\b(\.?)(\s*$)?/gu,
    (_found, letters: string, stop: string, end?: string) =>
      end === undefined ? letters.toUpperCase() : `${letters.toUpperCase()}${stop}`,
  );
}

function tidy(text: string): string {
  return (
    text
      .replaceAll(/[^A-Za-z',.!?;:—…"() ]/gu, ' ')
      // An apostrophe that joins nothing is a quotation mark.
      .replaceAll(
        /(?<![A-Za-z])'(?!(?:em|til|tis|twas|cause)\b)|'(?![A-Za-z])/giu,
        (mark, at: number, whole: string) =>
          /[sS]/u.test(whole[at - 1] ?? '') && /\s/u.test(whole[at + 1] ?? ' ') ? mark : ' ',
      )
      .replaceAll(/\s+(?=[,.!?;:])/gu, '')
      .replaceAll(/([,;:])(?:\s*[,;:])+/gu, '$1')
      .replaceAll(/,(?=[.!?])/gu, '')
      .replaceAll(/\s+/gu, ' ')
      .trim()
  );
}
