/* Numbers in American English. Digits are passed as text, because input may exceed the range of a number. */

const small = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
  'thirteen',
  'fourteen',
  'fifteen',
  'sixteen',
  'seventeen',
  'eighteen',
  'nineteen',
];
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];
const powers = ['', 'thousand', 'million', 'billion', 'trillion', 'quadrillion'];
const irregularOrdinals: Readonly<Record<string, string>> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

/** Longer numbers are spoken digit by digit. */
const maxDigits = powers.length * 3;

/** `1234` → `one thousand two hundred thirty four`. */
export function cardinal(digits: string): string {
  const plain = digits.replace(/^0+(?=\d)/u, '');
  if (plain.length > maxDigits) return digitByDigit(digits);
  if (plain === '0') return 'zero';
  const groups: string[] = [];
  for (let end = plain.length, power = 0; end > 0; end -= 3, power += 1) {
    const value = Number(plain.slice(Math.max(0, end - 3), end));
    if (value > 0) groups.unshift(`${belowThousand(value)} ${powers[power] ?? ''}`.trim());
  }
  return groups.join(' ');
}

/** `21` → `twenty first`. */
export function ordinal(digits: string): string {
  return toOrdinal(cardinal(digits));
}

/** Turns the last word into its ordinal. */
export function toOrdinal(words: string): string {
  return words.replace(/[a-z]+$/u, (last) => irregularOrdinals[last] ?? `${last.replace(/y$/u, 'ie')}th`);
}

/** `1905` → `nineteen oh five`, `2000` → `two thousand`, `2024` → `twenty twenty four`. */
export function year(digits: string): string {
  const century = digits.slice(0, -2);
  const rest = digits.slice(-2);
  if (digits.length < 3 || digits.length > 4 || /^[12]00\d$/u.test(digits)) return cardinal(digits);
  if (rest === '00') return `${cardinal(century)} hundred`;
  return `${cardinal(century)} ${rest.startsWith('0') ? `oh ${cardinal(rest)}` : cardinal(rest)}`;
}

/** `907` → `nine zero seven`. */
export function digitByDigit(digits: string): string {
  return [...digits].map((digit) => small[Number(digit)] ?? '').join(' ');
}

/** `3.14` → `three point one four`; a missing integer part is spoken as zero. */
export function decimal(whole: string, fraction: string): string {
  return `${cardinal(whole === '' ? '0' : whole)} point ${digitByDigit(fraction)}`;
}

/** Speaks a number with thousands separators, a fraction or a sign. */
export function spokenNumber(text: string): string {
  const [, sign = '', whole = '', fraction] = /^([-−+]?)([\d,]*)(?:\.(\d+))?$/u.exec(text) ?? [];
  const digits = whole.replaceAll(',', '');
  const words = fraction === undefined ? cardinal(digits) : decimal(digits, fraction);
  const spokenSign = sign === '+' ? 'plus ' : sign === '' ? '' : 'minus ';
  return `${spokenSign}${words}`;
}

/** `twenty` → `twenties`, `six` → `sixes`: plurals for decades and similar. */
export function pluralOf(words: string): string {
  return words.replace(/[a-z]+$/u, (last) => {
    if (last.endsWith('y')) return `${last.slice(0, -1)}ies`;
    return last.endsWith('x') ? `${last}es` : `${last}s`;
  });
}

function belowThousand(value: number): string {
  const hundreds = Math.floor(value / 100);
  const rest = value % 100;
  const words = hundreds > 0 ? [`${small[hundreds] ?? ''} hundred`] : [];
  if (rest >= 20) words.push(tens[Math.floor(rest / 10)] ?? '');
  const last = rest >= 20 ? rest % 10 : rest;
  if (last > 0) words.push(small[last] ?? '');
  return words.join(' ');
}
