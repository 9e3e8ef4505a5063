/** Money is an integer of nano-USD; one DIEM is one USD. Decimals exist only where people read amounts. */
export type NanoUsd = bigint;

/** Currencies in spending order. Bundled credits are dollars that come with another product. */
export const currencies = ['DIEM', 'BUNDLED', 'USD'] as const;
export type Currency = (typeof currencies)[number];

export const nanosPerUsd = 1_000_000_000n;
const million = 1_000_000n;

/** Converts a price or limit of a manifest or body (at most nine decimals, not negative) to an integer. */
export function nanosOf(amount: number): NanoUsd {
  if (!Number.isFinite(amount) || amount < 0) throw new RangeError('An amount must be finite and not negative.');
  // Parses the digits, because 0.29 * 1e9 is not an integer. `toFixed` is exact for such JSON numbers.
  return parseNanos(amount.toFixed(9)) ?? 0n;
}

/** Parses `"12.5"` to nano-USD; null unless it is a plain decimal with at most nine places. */
export function parseNanos(text: string): NanoUsd | null {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?$/.exec(text);
  if (match === null) return null;
  const [, sign = '', whole = '0', decimals = ''] = match;
  const nanos = BigInt(whole) * nanosPerUsd + BigInt(decimals.padEnd(9, '0'));
  return sign === '-' ? -nanos : nanos;
}

/** Returns the cost of `units` at a price per million, rounded half up to the nano. */
export function costPerMillion(units: number, nanosPerMillion: NanoUsd): NanoUsd {
  return (BigInt(units) * nanosPerMillion + million / 2n) / million;
}

/** Formats an amount with `decimals` places, rounded half away from zero: `"0.000123"`. */
export function formatNanos(nanos: NanoUsd, decimals = 6): string {
  const step = 10n ** BigInt(9 - decimals);
  const magnitude = nanos < 0n ? -nanos : nanos;
  const rounded = (magnitude + step / 2n) / step;
  const digits = rounded.toString().padStart(decimals + 1, '0');
  const cut = digits.length - decimals;
  const text = decimals === 0 ? digits : `${digits.slice(0, cut)}.${digits.slice(cut)}`;
  return nanos < 0n && rounded > 0n ? `-${text}` : text;
}

/** Returns the same as a number for JSON responses; not for further computation. */
export function displayNanos(nanos: NanoUsd, decimals = 6): number {
  return Number(formatNanos(nanos, decimals));
}
