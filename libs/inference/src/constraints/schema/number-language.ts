import { isSliceOver } from '../compile-deadline.js';
import { type JsonGrammar, maxIntegerDigits } from '../json-grammar.js';
import { ConstraintRefusal } from '../refusal.js';
import type { Regex } from '../regex.js';
import { DigitMachine } from './digit-machine.js';
import { type Bound, NumberRanges, withoutExponent } from './number-ranges.js';
import type { SchemaFacts } from './schema-facts.js';

/** Digits behind the point that multiples have at most, and digits of all of them. */
const maxMultipleFraction = 15;
const maxMultipleDigits = 40;

/**
 * The numbers of a schema. Those with bounds, multiples or exceptions are written without exponent. Yields when its slice
 * is over.
 */
export function* numberLanguage(json: JsonGrammar, facts: SchemaFacts): Generator<void, Regex> {
  const numbers = yield* allowedNumbers(json, facts);
  const { arena } = json;
  const forbidden = facts.excluded.map(({ value }) => value).filter((value) => typeof value === 'number');
  if (forbidden.length === 0 && !facts.fractionsOnly) return numbers;
  const digits = arena.star(json.digit());
  // Numbers of more digits may be read as an exception that they do not equal.
  const short = arena.repeat(arena.or(json.digit(), arena.text('.'), arena.text('-')), 1, maxIntegerDigits);
  const exceptions: Regex[] = [];
  for (const value of forbidden) {
    if (isSliceOver(8)) yield;
    exceptions.push(textsOfNumber(json, value));
  }
  const fraction = arena.concat(arena.text('.'), digits, json.digit('1', '9'), digits);
  const integer = facts.fractionsOnly ? fraction : arena.optional(arena.concat(arena.text('.'), digits));
  const plain = arena.concat(arena.optional(arena.text('-')), digits, integer);
  return arena.and(numbers, plain, short, arena.not(arena.or(...exceptions)));
}

/** Every text without an exponent that is this number. */
function textsOfNumber({ arena }: JsonGrammar, value: number): Regex {
  const text = withoutExponent(Math.abs(value));
  const minus = arena.text('-');
  const sign = value === 0 ? arena.optional(minus) : value < 0 ? minus : arena.epsilon;
  const zeros = arena.star(arena.text('0'));
  const behind = text.includes('.') ? zeros : arena.optional(arena.concat(arena.text('.'), zeros));
  return arena.concat(sign, arena.text(text), behind);
}

function* allowedNumbers(json: JsonGrammar, facts: SchemaFacts): Generator<void, Regex> {
  const { lower, upper, multiples, integersOnly } = facts;
  if (multiples.length > 0) return yield* multiplesLanguage(json, facts);
  if (integersOnly) return integerLanguage(json, facts);
  return lower === null && upper === null ? json.number() : new NumberRanges(json).numbers(lower, upper);
}

function integerLanguage(json: JsonGrammar, facts: SchemaFacts): Regex {
  const [lower, upper] = [wholeBound(facts, 'lower'), wholeBound(facts, 'upper')];
  if (lower === null && upper === null) return json.integer();
  if (lower !== null && upper !== null && lower > upper) return json.arena.empty;
  return new NumberRanges(json).integers(lower, upper);
}

function wholeBound(facts: SchemaFacts, side: 'lower' | 'upper'): bigint | null {
  const bound = facts[side];
  return bound === null ? null : scaledBound(bound, side, 0);
}

/** The outermost whole number of steps of 10^-`digits` within a bound. */
function scaledBound({ value, isExclusive }: Bound, side: 'lower' | 'upper', digits: number): bigint {
  const decimal = decimalOf(value);
  const numerator = decimal.steps * 10n ** BigInt(digits);
  const denominator = 10n ** BigInt(decimal.digits);
  // Division goes toward zero.
  const below = numerator / denominator - (numerator % denominator < 0n ? 1n : 0n);
  const isExact = numerator % denominator === 0n;
  if (side === 'lower') return isExact && !isExclusive ? below : below + 1n;
  return isExact && isExclusive ? below - 1n : below;
}

/** A decimal as a whole number of steps of 10^-`digits`. */
interface Decimal {
  steps: bigint;
  digits: number;
}

function decimalOf(value: number): Decimal {
  const [integer = '0', fraction = ''] = withoutExponent(Math.abs(value)).split('.');
  const steps = BigInt(integer + fraction);
  return { steps: value < 0 ? -steps : steps, digits: fraction.length };
}

/** Numbers with as many digits behind the point as it takes, or fewer; without any where only integers are asked for. */
function* multiplesLanguage(json: JsonGrammar, facts: SchemaFacts): Generator<void, Regex> {
  const { steps, digits } = commonMultiple(facts);
  const choices: Regex[] = [];
  for (let fraction = 0; fraction <= (facts.integersOnly ? 0 : digits); fraction++) {
    if (isSliceOver(8)) yield;
    // Of the numbers with fewer digits, those that are multiples of a larger number of steps.
    const multipleOf = steps / greatestDivisor(steps, 10n ** BigInt(digits - fraction));
    choices.push(...multiplesOf(json, facts, { multipleOf, fraction }));
  }
  return json.arena.or(...choices);
}

/** The least number that all multiples of the schema divide. */
function commonMultiple({ multiples }: SchemaFacts): Decimal {
  const decimals = multiples.map(({ value }) => decimalOf(value));
  const digits = Math.max(...decimals.map((decimal) => decimal.digits));
  const common = decimals
    .map((decimal) => decimal.steps * 10n ** BigInt(digits - decimal.digits))
    .reduce((left, right) => (left / greatestDivisor(left, right)) * right);
  if (digits <= maxMultipleFraction && common.toString().length <= maxMultipleDigits) return { steps: common, digits };
  const { value, pointer } = multiples[0] ?? { value: 0, pointer: '' };
  throw new ConstraintRefusal(`multiples of ${value} are not supported`, pointer);
}

function* multiplesOf(
  json: JsonGrammar,
  { lower, upper }: SchemaFacts,
  { multipleOf, fraction }: { multipleOf: bigint; fraction: number },
): Generator<Regex, void> {
  const least = lower && scaledBound(lower, 'lower', fraction);
  const most = upper && scaledBound(upper, 'upper', fraction);
  const { arena } = json;
  for (const digit of '0123456789.') arena.text(digit);
  if (most === null || most >= 0n) yield* digitsBetween(max(least ?? 0n, 0n), most);
  if (least === null || least < 0n) {
    const mirrored = digitsBetween(most === null ? 1n : max(1n, -most), least && -least);
    for (const digits of mirrored) yield arena.concat(arena.text('-'), digits);
  }

  function* digitsBetween(from: bigint, to: bigint | null): Generator<Regex, void> {
    const last = to ?? 10n ** BigInt(Math.max(maxIntegerDigits, from.toString().length + 1)) - 1n;
    const shortest = Math.max(fraction + 1, from.toString().length);
    for (let length = shortest; length <= Math.max(shortest, last.toString().length); length++) {
      // A zero before others is only written where it is the one before the point.
      const first = length === fraction + 1 ? 0n : 10n ** BigInt(length - 1);
      const range = { from: max(from, first), to: min(last, 10n ** BigInt(length) - 1n) };
      if (range.from > range.to) continue;
      const written = (value: bigint): string => value.toString().padStart(length, '0');
      const machine = DigitMachine.of({
        ...{ from: written(range.from), to: written(range.to), multipleOf, fractionDigits: fraction },
      });
      if (machine !== null) yield arena.machine(machine);
    }
  }
}

function greatestDivisor(left: bigint, right: bigint): bigint {
  return right === 0n ? left : greatestDivisor(right, left % right);
}

function max(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function min(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}
