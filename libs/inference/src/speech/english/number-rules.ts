import { cardinal, decimal, digitByDigit, ordinal, spokenNumber, toOrdinal, year } from './number-words.js';

/** Matches one notation of numbers and returns its spoken form. */
export interface NumberRule {
  pattern: RegExp;
  say: (...groups: string[]) => string;
}

function fraction(over: string, under: string): string {
  if (under === '2') return over === '1' ? 'one half' : `${cardinal(over)} halves`;
  const part = under === '4' ? 'quarter' : toOrdinal(cardinal(under));
  return over === '1' ? `one ${part}` : `${cardinal(over)} ${part}s`;
}

/** Four digits without a comma are read as a year, because counts of thousands usually have one. */
function wholeNumber(digits: string): string {
  if (/^(?:1[1-9]|20)\d\d$/u.test(digits)) return year(digits);
  // A leading zero marks an identifier: `007`.
  if (/^0\d/u.test(digits)) return digitByDigit(digits);
  return cardinal(digits);
}

function version(text: string): string {
  return text.split('.').map(cardinal).join(' point ');
}

/** In matching order: each takes what a later rule would misread. */
export const numberRules: readonly NumberRule[] = [
  { pattern: /(?<![\w)])[-−](?=\.?\d)/gu, say: () => ' minus ' },
  {
    pattern: /\b(\d+)\s+([1-9]\d?)\/([1-9]\d{0,2})\b(?!\/)/gu,
    say: (_, whole, over, under) => `${cardinal(whole ?? '')} and ${fraction(over ?? '', under ?? '')}`,
  },
  {
    pattern: /(?<![\d/])([1-9]\d?)\/([1-9]\d{0,2})\b(?!\/)/gu,
    say: (_, over, under) => fraction(over ?? '', under ?? ''),
  },
  {
    pattern: /\b(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b/giu,
    say: (_, digits) => ordinal((digits ?? '').replaceAll(',', '')),
  },
  // What is no fraction: `120/80`. Of more than two numbers, the strokes are not spoken.
  { pattern: /(?<![\d/.])(\d{1,9})\s?\/\s?(?=\d{1,9}(?![\d/]))/gu, say: (_, over) => `${over ?? ''} over ` },
  { pattern: /\b\d+(?:\.\d+){2,}\b/gu, say: (text) => version(text) },
  {
    pattern: /\b(\d{1,3}(?:,\d{3})+)(?:\.(\d+))?\b/gu,
    say: (_, whole, rest) => spokenNumber(rest ? `${whole}.${rest}` : (whole ?? '')),
  },
  { pattern: /(?<!\d)(\d*)\.(\d+)\b/gu, say: (_, whole, rest) => decimal(whole ?? '', rest ?? '') },
  { pattern: /\d+/gu, say: (digits) => ` ${wholeNumber(digits)} ` },
];
