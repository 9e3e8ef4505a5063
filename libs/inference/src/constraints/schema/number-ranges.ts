import { trimEndOf } from '#platform/text';
import type { JsonGrammar } from '../json-grammar.js';
import { maxIntegerDigits } from '../json-grammar.js';
import type { Regex } from '../regex.js';

/** A bound of a number, as the schema writes it. */
export interface Bound {
  value: number;
  isExclusive: boolean;
}

/** A bound as decimal digits: integer part without leading zeros, fraction without trailing ones. */
interface Decimal {
  isNegative: boolean;
  integer: string;
  fraction: string;
}

/** Digits behind the point of a number that must keep a bound. */
const boundedFractionDigits = 10;

/**
 * Numbers between two bounds, written without exponent, as languages over their digits. Negative numbers mirror the
 * positive ones; zero has no sign.
 */
export class NumberRanges {
  constructor(private readonly json: JsonGrammar) {}

  /** Integers from `lower` to `upper`, each null where there is no bound. */
  integers(lower: bigint | null, upper: bigint | null): Regex {
    const { arena } = this.json;
    const parts: Regex[] = [];
    if (upper === null || upper >= 0n) parts.push(this.naturals(max(lower ?? 0n, 0n), upper));
    if (lower === null || lower < 0n) {
      const least = upper === null || upper >= -1n ? 1n : -upper;
      const most = lower === null ? null : -lower;
      parts.push(arena.concat(arena.text('-'), this.naturals(least, most)));
    }
    return arena.or(...parts);
  }

  /** Numbers with or without a fraction, beyond or at `lower` and `upper`. */
  numbers(lower: Bound | null, upper: Bound | null): Regex {
    const { arena } = this.json;
    const parts: Regex[] = [arena.concat(this.naturals(0n, null), this.anyFraction())];
    const negative = arena.concat(arena.text('-'), this.above({ isNegative: false, integer: '0', fraction: '' }, true));
    parts.push(negative);
    const all = arena.or(...parts);
    const checks = [all];
    if (lower !== null) checks.push(this.atLeast(lower));
    if (upper !== null) checks.push(this.atMost(upper));
    return arena.and(...checks);
  }

  private atLeast({ value, isExclusive }: Bound): Regex {
    const { arena } = this.json;
    const decimal = decimalOf(value);
    if (!decimal.isNegative) return this.above(decimal, isExclusive);
    const positive = arena.concat(this.naturals(0n, null), this.anyFraction());
    return arena.or(positive, arena.concat(arena.text('-'), this.below(decimal, isExclusive)));
  }

  private atMost({ value, isExclusive }: Bound): Regex {
    const { arena } = this.json;
    const decimal = decimalOf(value);
    const minus = arena.text('-');
    if (decimal.isNegative) return arena.concat(minus, this.above(decimal, isExclusive));
    const anyNegative = arena.concat(minus, this.naturals(0n, null), this.anyFraction());
    return arena.or(anyNegative, this.below(decimal, isExclusive));
  }

  /** Numbers without sign that are greater than `bound`, or equal where it is not exclusive. */
  private above(bound: Decimal, isExclusive: boolean): Regex {
    const { arena } = this.json;
    const integer = BigInt(bound.integer);
    return arena.or(
      arena.concat(this.naturals(integer + 1n, null), this.anyFraction()),
      arena.concat(arena.text(bound.integer), this.fractionAbove(bound.fraction, isExclusive)),
    );
  }

  /** Numbers without sign that are less than `bound`, or equal where it is not exclusive. */
  private below(bound: Decimal, isExclusive: boolean): Regex {
    const { arena } = this.json;
    const integer = BigInt(bound.integer);
    const fraction = this.fractionBelow(bound.fraction, isExclusive);
    const parts = [arena.concat(arena.text(bound.integer), fraction)];
    if (integer > 0n) parts.push(arena.concat(this.naturals(0n, integer - 1n), this.anyFraction()));
    return arena.or(...parts);
  }

  private anyFraction(): Regex {
    const { arena } = this.json;
    return arena.optional(arena.concat(arena.text('.'), arena.repeat(this.json.digit(), 1, boundedFractionDigits)));
  }

  private fractionAbove(fraction: string, isExclusive: boolean): Regex {
    const { arena } = this.json;
    const point = arena.text('.');
    if (fraction !== '') return arena.concat(point, this.digitsAbove(fraction, isExclusive));
    return isExclusive ? arena.concat(point, this.someNonZero()) : this.anyFraction();
  }

  private fractionBelow(fraction: string, isExclusive: boolean): Regex {
    const { arena } = this.json;
    const point = arena.text('.');
    if (fraction !== '') return arena.optional(arena.concat(point, this.digitsBelow(fraction, isExclusive)));
    if (isExclusive) return arena.empty;
    return arena.optional(arena.concat(point, arena.repeat(arena.text('0'), 1, boundedFractionDigits)));
  }

  /** Digits behind a point whose value is above that of `digits`, which end in no zero. */
  private digitsAbove(digits: string, isExclusive: boolean): Regex {
    const { arena } = this.json;
    if (digits === '') return isExclusive ? this.someNonZero() : this.moreDigits();
    const first = digits[0] ?? '0';
    const same = arena.concat(arena.text(first), this.digitsAbove(digits.slice(1), isExclusive));
    if (first === '9') return same;
    return arena.or(same, arena.concat(this.json.digit(next(first), '9'), this.moreDigits()));
  }

  private digitsBelow(digits: string, isExclusive: boolean): Regex {
    const { arena } = this.json;
    const first = digits[0] ?? '0';
    const rest = digits.slice(1);
    const zeros = arena.repeat(arena.text('0'), 0, boundedFractionDigits);
    const behind =
      rest === '' ? (isExclusive ? arena.empty : zeros) : arena.optional(this.digitsBelow(rest, isExclusive));
    const same = arena.concat(arena.text(first), behind);
    if (first === '0') return same;
    return arena.or(same, arena.concat(this.json.digit('0', previous(first)), this.moreDigits()));
  }

  private moreDigits(): Regex {
    return this.json.arena.repeat(this.json.digit(), 0, boundedFractionDigits);
  }

  private someNonZero(): Regex {
    const { arena } = this.json;
    const zeros = arena.repeat(arena.text('0'), 0, boundedFractionDigits);
    return arena.concat(zeros, this.json.digit('1', '9'), this.moreDigits());
  }

  /** Natural numbers without leading zeros. */
  private naturals(lower: bigint, upper: bigint | null): Regex {
    const { arena } = this.json;
    const low = lower.toString();
    const high = (upper ?? 10n ** BigInt(Math.max(maxIntegerDigits, low.length + 1)) - 1n).toString();
    const parts: Regex[] = [];
    if (upper !== null && lower > upper) return arena.empty;
    for (let length = low.length; length <= high.length; length++) {
      const from = length === low.length ? low : `1${'0'.repeat(length - 1)}`;
      const to = length === high.length ? high : '9'.repeat(length);
      parts.push(this.between(from, to));
    }
    return arena.or(...parts);
  }

  /** Digits of one length from `from` to `to`. */
  private between(from: string, to: string): Regex {
    const { arena } = this.json;
    const [low, high] = [from[0], to[0]];
    if (low === undefined || high === undefined) return arena.epsilon;
    const [lowRest, highRest] = [from.slice(1), to.slice(1)];
    if (/^0*$/.test(from) && /^9*$/.test(to)) return arena.repeat(this.json.digit(), from.length, from.length);
    if (low === high) return arena.concat(arena.text(low), this.between(lowRest, highRest));
    const nines = '9'.repeat(lowRest.length);
    const zeros = '0'.repeat(lowRest.length);
    const parts = [
      arena.concat(arena.text(low), this.between(lowRest, nines)),
      arena.concat(arena.text(high), this.between(zeros, highRest)),
    ];
    if (next(low) <= previous(high)) {
      const any = arena.repeat(this.json.digit(), lowRest.length, lowRest.length);
      parts.push(arena.concat(this.json.digit(next(low), previous(high)), any));
    }
    return arena.or(...parts);
  }
}

function decimalOf(value: number): Decimal {
  const text = withoutExponent(Math.abs(value));
  const [integer = '0', fraction = ''] = text.split('.');
  return { isNegative: value < 0, integer, fraction: trimEndOf(fraction, '0') };
}

/** All digits of an integer, of another number the shortest decimal that is it, with its exponent written out. */
export function withoutExponent(value: number): string {
  if (Number.isInteger(value)) return BigInt(value).toString();
  if (value < 0) return `-${withoutExponent(-value)}`;
  const text = String(value);
  const match = /^(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const digits = `${match[1] ?? ''}${match[2] ?? ''}`;
  const point = 1 + Number(match[3]);
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return digits.padEnd(point, '0');
  return `${digits.slice(0, point)}.${digits.slice(point)}`;
}

function next(digit: string): string {
  return String.fromCharCode(digit.charCodeAt(0) + 1);
}

function previous(digit: string): string {
  return String.fromCharCode(digit.charCodeAt(0) - 1);
}

function max(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
