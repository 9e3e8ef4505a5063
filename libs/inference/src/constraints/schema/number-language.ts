import { isSliceOver } from '../compile-deadline.js';
import type { JsonGrammar } from '../json-grammar.js';
import { ConstraintRefusal } from '../refusal.js';
import type { Regex } from '../regex.js';
import { NumberRanges, withoutExponent } from './number-ranges.js';
import type { SchemaFacts } from './schema-facts.js';

/** Multiples that are listed one by one at most. */
const maxListed = 4_096;

/** Last digits that decide whether a number is a multiple: of divisors of 10 to this power. */
const maxSuffixDigits = 3;

/**
 * The numbers of a schema. Those with bounds or multiples are written without exponent. Yields when its slice is over.
 */
export function* numberLanguage(json: JsonGrammar, facts: SchemaFacts): Generator<void, Regex> {
  const { lower, upper, multiples, integersOnly } = facts;
  const wholeMultiples = multiples.filter(({ value }) => Number.isInteger(value));
  if (integersOnly || wholeMultiples.length > 0) return yield* integerLanguage(json, facts);
  const fractions = multiples.map(({ value, pointer }) => multipleOfFraction(json, value, pointer));
  if (lower === null && upper === null) return fractions.length === 0 ? json.number() : json.arena.and(...fractions);
  return json.arena.and(new NumberRanges(json).numbers(lower, upper), ...fractions);
}

function* integerLanguage(json: JsonGrammar, facts: SchemaFacts): Generator<void, Regex> {
  const { arena } = json;
  const [lower, upper] = [wholeBound(facts, 'lower'), wholeBound(facts, 'upper')];
  const hasRange = lower !== null || upper !== null;
  if (lower !== null && upper !== null && lower > upper) return arena.empty;
  const checks = [hasRange ? new NumberRanges(json).integers(lower, upper) : json.integer()];
  for (const { value, pointer } of facts.multiples) {
    // A whole number is a multiple of a tenth, a hundredth and so on.
    if (isPowerOfTenth(value) || value === 1) continue;
    const language = yield* multipleOfWhole(json, { value, lower, upper });
    if (language === null) throw new ConstraintRefusal(`multiples of ${value} are not supported`, pointer);
    checks.push(language);
  }
  return arena.and(...checks);
}

function wholeBound(facts: SchemaFacts, side: 'lower' | 'upper'): bigint | null {
  const bound = facts[side];
  if (bound === null) return null;
  const inward = side === 'lower' ? 1n : -1n;
  const whole = BigInt(side === 'lower' ? Math.ceil(bound.value) : Math.floor(bound.value));
  return bound.isExclusive && Number.isInteger(bound.value) ? whole + inward : whole;
}

/** Null where neither the last digits decide nor the multiples are few. */
function* multipleOfWhole(
  json: JsonGrammar,
  { value, lower, upper }: { value: number; lower: bigint | null; upper: bigint | null },
): Generator<void, Regex | null> {
  if (!Number.isSafeInteger(value)) return null;
  for (let digits = 1; digits <= maxSuffixDigits; digits++) {
    if (10 ** digits % value === 0) return multipleBySuffix(json, value, digits);
  }
  const step = BigInt(value);
  if (lower === null || upper === null || (upper - lower) / step > BigInt(maxListed)) return null;
  const texts: string[] = [];
  let first = (lower / step) * step;
  if (first < lower) first += step;
  for (let multiple = first; multiple <= upper; multiple += step) {
    if (isSliceOver()) yield;
    texts.push(multiple.toString());
  }
  return texts.length === 0 ? json.arena.empty : yield* json.listed(texts);
}

function multipleBySuffix(json: JsonGrammar, value: number, digits: number): Regex {
  const { arena } = json;
  const multiples = Array.from({ length: Math.ceil(10 ** digits / value) }, (_, index) => index * value);
  const whole = json.oneOf(multiples.map(String));
  const suffix = json.oneOf(multiples.map((multiple) => String(multiple).padStart(digits, '0')));
  const long = arena.concat(json.digit('1', '9'), arena.star(json.digit()), suffix);
  return arena.concat(arena.optional(arena.text('-')), arena.or(whole, long));
}

function isPowerOfTenth(value: number): boolean {
  return /^0\.0*1$/.test(withoutExponent(value));
}

function multipleOfFraction(json: JsonGrammar, value: number, pointer: string): Regex {
  const { arena } = json;
  const text = withoutExponent(value);
  if (!isPowerOfTenth(value)) throw new ConstraintRefusal(`multiples of ${text} are not supported`, pointer);
  const fraction = arena.concat(arena.text('.'), arena.repeat(json.digit(), 1, text.length - 2));
  return arena.concat(json.integer(), arena.optional(fraction));
}
