/**
 * Money is an integer of nano-USD everywhere inside; one DIEM is one USD. Numbers with decimals exist where people
 * read them, and nowhere else.
 */
export type NanoUsd = bigint;

/** The currencies in the order they are spent. Bundled credits are dollars that came with something else. */
export const currencies = ['DIEM', 'BUNDLED', 'USD'] as const;
export type Currency = (typeof currencies)[number];

export const nanosPerUsd = 1_000_000_000n;
const million = 1_000_000n;

/** A price or a limit of a manifest or a body (at most nine decimals, not negative) as an integer. */
export function nanosOf(amount: number): NanoUsd {
  if (!Number.isFinite(amount) || amount < 0) throw new RangeError('An amount must be finite and not negative.');
  // Through its digits: 0.29 * 1e9 is not an integer. `toFixed` is exact for what JSON can say of such numbers.
  return parseNanos(amount.toFixed(9)) ?? 0n;
}

/** `"12.5"` as nano-USD; null for what is not a plain decimal of at most nine places. */
export function parseNanos(text: string): NanoUsd | null {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?$/.exec(text);
  if (match === null) return null;
  const [, sign = '', whole = '0', decimals = ''] = match;
  const nanos = BigInt(whole) * nanosPerUsd + BigInt(decimals.padEnd(9, '0'));
  return sign === '-' ? -nanos : nanos;
}

/** What `units` cost at a price per million, half up to the nano. */
export function costPerMillion(units: number, nanosPerMillion: NanoUsd): NanoUsd {
  return (BigInt(units) * nanosPerMillion + million / 2n) / million;
}

/** Half up (away from zero when negative) at `decimals` places, as text: `"0.000123"`. */
export function formatNanos(nanos: NanoUsd, decimals = 6): string {
  const step = 10n ** BigInt(9 - decimals);
  const magnitude = nanos < 0n ? -nanos : nanos;
  const rounded = (magnitude + step / 2n) / step;
  const digits = rounded.toString().padStart(decimals + 1, '0');
  const cut = digits.length - decimals;
  const text = decimals === 0 ? digits : `${digits.slice(0, cut)}.${digits.slice(cut)}`;
  return nanos < 0n && rounded > 0n ? `-${text}` : text;
}

/** The same as a number, for JSON answers; nothing is computed with it. */
export function displayNanos(nanos: NanoUsd, decimals = 6): number {
  return Number(formatNanos(nanos, decimals));
}
