/* Amounts are decimal strings with up to nine decimals. They are never turned into floating-point numbers. */

const decimals = 9;
const unit = 10n ** BigInt(decimals);

/** Returns billionths. Throws for a text that is no amount. */
export function parseNanos(amount: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(amount);
  if (match === null) throw new Error(`${JSON.stringify(amount)} is no amount.`);
  const [, sign = '', whole = '0', fraction = ''] = match;
  const nanos = BigInt(whole) * unit + BigInt(fraction.padEnd(decimals, '0'));
  return sign === '-' ? -nanos : nanos;
}

/** Returns the decimal string of billionths, such as `0.0000312`. */
export function formatNanos(nanos: bigint): string {
  const absolute = nanos < 0n ? -nanos : nanos;
  const fraction = String(absolute % unit).padStart(decimals, '0');
  return `${nanos < 0n ? '-' : ''}${absolute / unit}.${fraction}`;
}

/**
 * Returns the decimal string of a JSON number, such as the `cost` of a response. Responses round to billionths, so the
 * shortest text of the number is the amount itself.
 */
export function decimalOf(value: number): string {
  const [mantissa = '0', exponent = '0'] = String(value).split('e');
  const negative = mantissa.startsWith('-');
  const [whole = '0', fraction = ''] = mantissa.replace('-', '').split('.');
  const shift = Number(exponent);
  const digits = whole + fraction;
  const point = whole.length + shift;
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const at = Math.max(point, 1);
  const decimal = padded.slice(at).slice(0, decimals);
  return `${negative ? '-' : ''}${padded.slice(0, at)}${decimal === '' ? '' : `.${decimal}`}`;
}

/** Formats an amount to its last digit: `$1,234.50`, `$0.0000312`. */
export function formatMoney(amount: string | null | undefined, currency = 'USD'): string {
  if (amount === null || amount === undefined) return '–';
  const text = formatNanos(parseNanos(amount));
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const grouped = groupDigits(whole);
  const cents = withoutTrailingZeros(fraction);
  const sign = text.startsWith('-') ? '−' : '';
  return currency === 'USD' ? `${sign}$${grouped}.${cents}` : `${sign}${grouped}.${cents} ${currency}`;
}

function groupDigits(whole: string): string {
  const groups: string[] = [];
  for (let end = whole.length; end > 0; end -= 3) groups.unshift(whole.slice(Math.max(0, end - 3), end));
  return groups.join(',');
}

/** Keeps at least the cents. */
function withoutTrailingZeros(fraction: string): string {
  let end = fraction.length;
  while (end > 2 && fraction.charAt(end - 1) === '0') end -= 1;
  return fraction.slice(0, end);
}

export function addAmounts(...amounts: readonly string[]): string {
  return formatNanos(amounts.reduce((sum, amount) => sum + parseNanos(amount), 0n));
}

/** For the height of a bar only: a chart needs no more digits than a screen has pixels. */
export function toPlotValue(amount: string): number {
  return Number(parseNanos(amount)) / Number(unit);
}
