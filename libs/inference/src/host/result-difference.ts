import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { GeneratedTokenLogprob } from '../contract/text-generation.js';

/** A token of a trial with its log-probability and those of the likeliest ones. */
export type TrialToken = Pick<GeneratedTokenLogprob, 'token' | 'logprob'> & { top: Record<string, number> };

/** The results of a trial: tokens of a text, or the parts and the output of a task. */
export interface TrialResult {
  tokens: TrialToken[];
  values: unknown[];
}

/** How far results of two providers may be apart. */
export interface Tolerance {
  /** Bound for the log-probability of a token. */
  logprob: number;
  /** Bound for a number, as a part of the largest one in its array. */
  relative: number;
}

/** Bounds for two runs on one provider. */
export const exact: Tolerance = { logprob: 1e-3, relative: 1e-3 };

/** Two orders of addition, and products in half floats or in float32. */
const floats: Tolerance = { logprob: 0.2, relative: 0.03 };

/** Kernels of the processor also round the activations beside weights of eight bits or fewer. */
const codes: Tolerance = { logprob: 0.5, relative: 0.08 };

/** Returns the tolerance by the precision of the weights. */
export function toleranceOf(quantization: HostLoadOptions['quantization']): Tolerance {
  return quantization !== undefined && ['int8', 'int4', 'fp8', 'fp4'].includes(quantization) ? codes : floats;
}

/** Describes where a result is not that of the reference; null if it is. */
export function describeDifference(reference: TrialResult, found: TrialResult, tolerance: Tolerance): string | null {
  return (
    differenceOfTexts(reference.tokens, found.tokens, tolerance.logprob) ??
    differenceOf(reference.values, found.values, { tolerance: tolerance.relative, at: 'the result' })
  );
}

/** True if there is something to compare. */
export function isEmpty({ tokens, values }: TrialResult): boolean {
  return tokens.length === 0 && !values.some(holdsNumbers);
}

/** Texts are compared up to the first tie that they resolve differently: what follows depends on it. */
function differenceOfTexts(reference: TrialToken[], found: TrialToken[], tolerance: number): string | null {
  for (const [index, wanted] of reference.entries()) {
    const token = found[index];
    if (token === undefined) return `its text ends after ${index} tokens`;
    const apart = Math.abs(token.logprob - wanted.logprob);
    if (token.token === wanted.token) {
      // Negated, so that a number that is none is a difference.
      if (!(apart <= tolerance))
        return `token ${index + 1} has a log-probability of ${token.logprob}, not ${wanted.logprob}`;
      continue;
    }
    const likelihood = wanted.top[token.token] ?? -Infinity;
    if (wanted.logprob - likelihood <= 2 * tolerance) return null;
    return `token ${index + 1} is ${JSON.stringify(token.token)}, not ${JSON.stringify(wanted.token)}`;
  }
  return found.length > reference.length ? `its text has ${found.length} tokens, not ${reference.length}` : null;
}

interface Place {
  tolerance: number;
  /** Name for the reason. */
  at: string;
}

function differenceOf(wanted: unknown, found: unknown, { tolerance, at }: Place): string | null {
  const [left, right] = [numbersOf(wanted), numbersOf(found)];
  if (left !== null && right !== null) return differenceOfNumbers(left, right, { tolerance, at });
  if (typeof wanted !== 'object' || wanted === null || typeof found !== 'object' || found === null) {
    return Object.is(wanted, found) ? null : `${at} is ${String(found)}, not ${String(wanted)}`;
  }
  const [members, others] = [Object.entries(wanted), found as Record<string, unknown>];
  if (Object.keys(others).length !== members.length) return `${at} has other members`;
  for (const [name, value] of members) {
    const difference = differenceOf(value, others[name], { tolerance, at: `${at}.${name}` });
    if (difference !== null) return difference;
  }
  return null;
}

function differenceOfNumbers(wanted: ArrayLike<number>, found: ArrayLike<number>, place: Place): string | null {
  const { tolerance, at } = place;
  if (wanted.length !== found.length) return `${at} has ${found.length} numbers, not ${wanted.length}`;
  let scale = 0;
  for (let index = 0; index < wanted.length; index += 1) scale = Math.max(scale, Math.abs(wanted[index] ?? 0));
  for (let index = 0; index < wanted.length; index += 1) {
    const [left, right] = [wanted[index] ?? 0, found[index] ?? 0];
    if (!(Math.abs(left - right) <= tolerance * scale)) return `${at} has ${right} at ${index}, not ${left}`;
  }
  return null;
}

/** Returns a number as an array of one, and null for what is no number and no array of them. */
function numbersOf(value: unknown): ArrayLike<number> | null {
  if (typeof value === 'number') return [value];
  if (value instanceof BigInt64Array) return Array.from(value, Number);
  if (ArrayBuffer.isView(value) && 'length' in value) return value as unknown as ArrayLike<number>;
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'number') ? value : null;
}

function holdsNumbers(value: unknown): boolean {
  if (numbersOf(value) !== null) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsNumbers);
}
