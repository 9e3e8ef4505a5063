import { cardinal, ordinal, pluralOf, year } from './number-words.js';
import type { NumberRule } from './number-rules.js';

const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];
const monthNames = `${months.join('|')}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec`;
const day = '(0?[1-9]|[12]\\d|3[01])';

function monthOf(name: string): string {
  return months.find((month) => month.startsWith(name.slice(0, 3).toLowerCase())) ?? name;
}

function dateWords(month: number, dayText: string, yearText: string): string {
  const full = yearText.length === 2 ? cardinal(yearText) : year(yearText);
  return `${months[month - 1] ?? ''} ${ordinal(dayText)}, ${full}`;
}

function clock({ hours, minutes, seconds, half }: Record<'hours' | 'minutes' | 'seconds' | 'half', string>): string {
  const time = clockTime(hours, minutes, half);
  if (Number(seconds) === 0) return time;
  return `${time} and ${cardinal(seconds)} second${Number(seconds) === 1 ? '' : 's'}`;
}

function clockTime(hours: string, minutes: string, half: string): string {
  const spokenHalf = half === '' ? '' : ` ${half.toLowerCase().startsWith('a') ? 'A' : 'P'}.M`;
  const hour = cardinal(hours);
  if (Number(minutes) === 0) {
    if (spokenHalf !== '') return `${hour}${spokenHalf}`;
    return Number(hours) > 12 || Number(hours) === 0 ? `${hour} hundred` : `${hour} o'clock`;
  }
  const minute = minutes.startsWith('0') ? `oh ${cardinal(minutes)}` : cardinal(minutes);
  return `${hour} ${minute}${spokenHalf}`;
}

const half = '\\s?([ap])\\.?\\s?m\\b';

/** Dates, times, decades and ranges; later rules handle the remaining numbers. */
export const dateRules: readonly NumberRule[] = [
  {
    pattern: /\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:T(?=\d\d:))?\b/gu,
    say: (_, yearText, month, dayText) => `${dateWords(Number(month), dayText ?? '', yearText ?? '')} `,
  },
  {
    pattern: /\b(0?[1-9]|1[0-2])\/(0?[1-9]|[12]\d|3[01])\/(\d{4}|\d{2})\b/gu,
    say: (_, month, dayText, yearText) => dateWords(Number(month), dayText ?? '', yearText ?? ''),
  },
  {
    pattern: new RegExp(`\\b(${monthNames})\\.?\\s+${day}(?:st|nd|rd|th)?\\b(?:,?\\s+(\\d{4})\\b)?(?!:|\\.\\d)`, 'giu'),
    say: (_, month, dayText, yearText) =>
      `${monthOf(month ?? '')} ${ordinal(dayText ?? '')}${yearText ? `, ${year(yearText)}` : ''}`,
  },
  {
    pattern: new RegExp(`\\b${day}(?:st|nd|rd|th)?\\s+(?:of\\s+)?(${monthNames})\\b\\.?(?:,?\\s+(\\d{4})\\b)?`, 'giu'),
    say: (_, dayText, month, yearText) =>
      `the ${ordinal(dayText ?? '')} of ${monthOf(month ?? '')}${yearText ? ` ${year(yearText)}` : ''}`,
  },
  {
    pattern: new RegExp(`\\b(${monthNames})\\.?,?\\s+(\\d{4})\\b`, 'giu'),
    say: (_, month, yearText) => `${monthOf(month ?? '')} ${year(yearText ?? '')}`,
  },
  {
    pattern: new RegExp(`\\b([01]?\\d|2[0-3]|24(?=:00)):([0-5]\\d)(?::([0-5]\\d))?(?:${half})?(?![\\d:])`, 'giu'),
    say: (_, hours = '', minutes = '', seconds = '', halfText = '') =>
      clock({ hours, minutes, seconds, half: halfText }),
  },
  {
    pattern: new RegExp(`\\b(1[0-2]|0?[1-9])${half}`, 'giu'),
    say: (_, hours, halfText) => clockTime(hours ?? '', '00', halfText ?? ''),
  },
  { pattern: /(?<![\w.,])['’]?([12]\d\d0|\d0)['’]?s\b/gu, say: (_, digits) => decade(digits ?? '') },
  // Two remaining numbers around a dash are a range.
  {
    pattern: /(?<![\w.-])(\d[\d,]*(?:\.\d+)?)\s?[-–—]\s?(?=\d[\d,.]*(?![\w-]|\.\d))/gu,
    say: (_, from) => `${from ?? ''} to `,
  },
];

function decade(digits: string): string {
  return pluralOf(digits.length === 4 ? year(digits) : cardinal(digits));
}
