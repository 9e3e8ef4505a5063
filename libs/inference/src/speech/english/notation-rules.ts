import { cardinal, digitByDigit, ordinal, spokenNumber } from './number-words.js';
import type { NumberRule } from './number-rules.js';

/** Two numbers around a slash that are neither a fraction nor a date. */
const sayings = new Set(['24/7', '9/11', '7/7', '20/20', '4/20']);

/** Speaks `50/50` as a share, and leaves fractions. */
function slashed(found: string, over: string, under: string): string {
  const isShare = over.length === 2 && Number(over) + Number(under) === 100;
  return isShare || sayings.has(found) ? `${cardinal(over)} ${cardinal(under)}` : found;
}

/** `10^6` → ten to the sixth; `x^2` → x squared. */
function power(sign: string, exponent: string): string {
  if (sign !== '') return ` to the minus ${cardinal(exponent)} `;
  if (exponent === '2') return ' squared ';
  return exponent === '3' ? ' cubed ' : ` to the ${ordinal(exponent)} `;
}

/** Seven digits are a telephone number unless both parts are round, as those of ranges are. */
function shortTelephone(found: string, exchange: string, subscriber: string): string {
  if (exchange.endsWith('0') && subscriber.endsWith('0')) return found;
  return `${digitByDigit(exchange)}, ${digitByDigit(subscriber)}`;
}

/**
 * Joins thousands separated by spaces: `10 000` → `10,000`. A digit and one group are two numbers, such as a count and a
 * size, unless the group is round.
 */
function spacedThousands(found: string): string {
  const [, number = '', first = '', groups = '', end = ''] = /^(([1-9]\d{0,2})((?: \d{3})+))( *)$/u.exec(found) ?? [];
  const mayBeTwo = first.length === 1 && groups.length === 4 && groups !== ' 000';
  return number === '' || mayBeTwo ? found : `${number.replaceAll(' ', ',')}${end}`;
}

/** Area code and subscriber number, spoken digit by digit in groups. */
function telephone(text: string): string {
  const groups = text.split(/\D+/u).filter((group) => group !== '');
  return groups.map(digitByDigit).join(', ');
}

/**
 * Notations with signs between or behind digits. They come before all rules that turn digits into words, because those
 * would leave the signs alone.
 */
export const notationRules: readonly NumberRule[] = [
  {
    pattern: /(?<![\w.])(?:\+?\d{1,3}[-.\s])?(?:\(\d{3}\)\s?|\d{3}[-.\s])\d{3}[-.\s]\d{4}\b/gu,
    say: (text) => telephone(text ?? ''),
  },
  // The whole run is matched, so that each place of a text is tried once.
  { pattern: /[.,:/]?\d[\d ]*/gu, say: (found) => spacedThousands(found ?? '') },
  {
    pattern: /(?<![\w.,])(\d{1,15}(?:\.\d{1,15})?)[eE]([-−+]?)(\d{1,3})(?![\w.])/gu,
    say: (_, number, sign, exponent) =>
      `${number === '1' ? '' : `${spokenNumber(number ?? '')} times `}ten${power((sign ?? '').replace('+', ''), exponent ?? '')}`,
  },
  {
    pattern: /(?<=\d|\b(?:[A-Za-z]|[cdkm]m|ft|in|mi))(?:\^|\*\*)([-−]?)(\d{1,3})(?![\d.])/gu,
    say: (_, sign, exponent) => power(sign ?? '', exponent ?? ''),
  },
  { pattern: /(?<=\d)\s?[*×]\s?(?=\d)/gu, say: () => ' times ' },
  // `0x` begins a hexadecimal number.
  { pattern: /(?<=\d)(?<!\b0)\s?x\s?(?=\d)/gu, say: () => ' times ' },
  {
    pattern: /(?<![\w.'])(\d{1,2})'\s?(\d{1,2})(?:"|''|(?!\w|\.\d))/gu,
    say: (_, feet, inches) =>
      `${cardinal(feet ?? '')} ${feet === '1' ? 'foot' : 'feet'} ${cardinal(inches ?? '')} ${inches === '1' ? 'inch' : 'inches'} `,
  },
  {
    pattern: /(?<![\w.,/-])([1-9]\d?)\/([1-9]\d?)(?![\w/-]|\.\d)/gu,
    say: (found, over, under) => slashed(found ?? '', over ?? '', under ?? ''),
  },
  {
    pattern: /(?<![\w.,/-])([2-9]\d{2})-(\d{4})(?![\w/-]|\.\d)/gu,
    say: (found, exchange, subscriber) => shortTelephone(found ?? '', exchange ?? '', subscriber ?? ''),
  },
  // A range of amounts; its sign is no minus.
  { pattern: /(?<=\d)\s?-\s?(?=[$£€¥₹]\s?\d)/gu, say: () => ' to ' },
];
