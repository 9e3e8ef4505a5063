import { cardinal, spokenNumber } from './number-words.js';
import type { NumberRule } from './number-rules.js';

const number = '\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?|\\d*\\.\\d+|\\d+';

/** Singular and plural of the unit and of its hundredth. */
const currencies: Readonly<Record<string, readonly [string, string, string, string]>> = {
  $: ['dollar', 'dollars', 'cent', 'cents'],
  '£': ['pound', 'pounds', 'penny', 'pence'],
  '€': ['euro', 'euros', 'cent', 'cents'],
  '¥': ['yen', 'yen', 'sen', 'sen'],
  '₹': ['rupee', 'rupees', 'paisa', 'paise'],
};

const magnitudes: Readonly<Record<string, string>> = {
  k: 'thousand',
  m: 'million',
  mn: 'million',
  b: 'billion',
  bn: 'billion',
  t: 'trillion',
  tn: 'trillion',
};

/** Units written after a number; singular and plural. */
const units: Readonly<Record<string, readonly [string, string]>> = {
  '%': ['percent', 'percent'],
  '°C': ['degree celsius', 'degrees celsius'],
  '°F': ['degree fahrenheit', 'degrees fahrenheit'],
  '°': ['degree', 'degrees'],
  'km/h': ['kilometer per hour', 'kilometers per hour'],
  'm/s': ['meter per second', 'meters per second'],
  mph: ['mile per hour', 'miles per hour'],
  km: ['kilometer', 'kilometers'],
  cm: ['centimeter', 'centimeters'],
  mm: ['millimeter', 'millimeters'],
  m: ['meter', 'meters'],
  ft: ['foot', 'feet'],
  mi: ['mile', 'miles'],
  yd: ['yard', 'yards'],
  kg: ['kilogram', 'kilograms'],
  mg: ['milligram', 'milligrams'],
  g: ['gram', 'grams'],
  lb: ['pound', 'pounds'],
  lbs: ['pounds', 'pounds'],
  oz: ['ounce', 'ounces'],
  ml: ['milliliter', 'milliliters'],
  mL: ['milliliter', 'milliliters'],
  L: ['liter', 'liters'],
  ms: ['millisecond', 'milliseconds'],
  min: ['minute', 'minutes'],
  mins: ['minutes', 'minutes'],
  hr: ['hour', 'hours'],
  hrs: ['hours', 'hours'],
  h: ['hour', 'hours'],
  s: ['second', 'seconds'],
  Hz: ['hertz', 'hertz'],
  kHz: ['kilohertz', 'kilohertz'],
  MHz: ['megahertz', 'megahertz'],
  GHz: ['gigahertz', 'gigahertz'],
  kB: ['kilobyte', 'kilobytes'],
  KB: ['kilobyte', 'kilobytes'],
  MB: ['megabyte', 'megabytes'],
  GB: ['gigabyte', 'gigabytes'],
  TB: ['terabyte', 'terabytes'],
  W: ['watt', 'watts'],
  kW: ['kilowatt', 'kilowatts'],
  kWh: ['kilowatt hour', 'kilowatt hours'],
  V: ['volt', 'volts'],
};

const unitNames = Object.keys(units)
  .sort((left, right) => right.length - left.length)
  .map((name) => name.replaceAll('/', '\\/'))
  .join('|');

function isOne(text: string): boolean {
  return /^1(?:\.0+)?$/u.test(text.replaceAll(',', ''));
}

function money(sign: string, amount: string, magnitude: string): string {
  const [one, many, hundredth, hundredths] = currencies[sign] ?? ['', '', '', ''];
  const size = magnitudes[magnitude.toLowerCase()] ?? magnitude.toLowerCase();
  if (size !== '') return `${spokenNumber(amount)} ${size} ${many}`;
  const [whole = '', rest] = amount.replaceAll(',', '').split('.');
  const main = `${cardinal(whole === '' ? '0' : whole)} ${isOne(whole) ? one : many}`;
  // Three decimals are a rate, not cents.
  if (rest === undefined || /^0+$/u.test(rest)) return main;
  if (rest.length > 2) return `${spokenNumber(amount)} ${many}`;
  const coins = rest.padEnd(2, '0');
  const coinWords = `${cardinal(coins)} ${isOne(coins.replace(/^0/u, '')) ? hundredth : hundredths}`;
  return /^0*$/u.test(whole) ? coinWords : `${main} and ${coinWords}`;
}

/** Currencies and units of measure. */
export const unitRules: readonly NumberRule[] = [
  {
    pattern: new RegExp(
      `((?<![\\w)])[-−])?(?:US|[ACN]Z?)?([$£€¥₹])(\\s?[-−])?\\s?(${number})(?:\\s?(thousand|million|billion|trillion|bn|mn|tn|[kmbt])\\b)?`,
      'giu',
    ),
    say: (_, before, sign, behind, amount, magnitude) =>
      ` ${before || behind ? 'minus ' : ''}${money(sign ?? '', amount ?? '', magnitude ?? '')} `,
  },
  {
    pattern: new RegExp(`(?<![\\w.,])([-−]?)(${number})\\s?([€£])`, 'gu'),
    say: (_, minus, amount, sign) => `${minus ? 'minus ' : ''}${money(sign ?? '', amount ?? '', '')} `,
  },
  {
    pattern: new RegExp(`(?<![\\w.,])([-−]?)(${number})\\s?(${unitNames})(?![\\w°])`, 'gu'),
    say: (_, sign, amount, unit) => {
      const [one, many] = units[unit ?? ''] ?? ['', ''];
      return `${sign ? 'minus ' : ''}${spokenNumber(amount ?? '')} ${isOne(amount ?? '') ? one : many}`;
    },
  },
  {
    pattern: new RegExp(`(?<![\\w.,])([-−]?)(${number})([kMB])\\b(?![-'’])`, 'gu'),
    say: (_, sign, amount, magnitude) =>
      `${sign ? 'minus ' : ''}${spokenNumber(amount ?? '')} ${magnitudes[(magnitude ?? '').toLowerCase()] ?? ''}`,
  },
];
