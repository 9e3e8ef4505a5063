import { Tokenizer } from '@huggingface/tokenizers';
import { PlatformError } from '#common';
import { CallTimeout, callWithin } from '#platform/timed-call';
import { WorkTimer } from '../constraints/work-timer.js';

/** Members of tokenizer.json with the expressions that split and rewrite every text. */
export interface PatternFile {
  pre_tokenizer?: unknown;
  normalizer?: unknown;
}

/** Blanks at the end of a text. From each blank of a run that is not there, it reads the rest of the run. */
const endingBlanks = /(^|\|)\\s\+\$(?=$|\|)/g;

/**
 * The file with expressions that take the same texts in time that grows with their length. Those of published models are
 * made for engines that never read a character twice.
 */
function withLinearPatterns(file: PatternFile): PatternFile {
  const { pre_tokenizer: preTokenizer, normalizer } = file;
  return { ...file, pre_tokenizer: rewritten(preTokenizer), normalizer: rewritten(normalizer) };
}

function rewritten(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(rewritten);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      // A match begins at the first blank of a run in any case.
      name === 'Regex' && typeof value === 'string'
        ? value.replaceAll(endingBlanks, String.raw`$1(?<!\s)\s+$$`)
        : rewritten(value),
    ]),
  );
}

const shortProbe = 4_000;
const longProbe = 16_000;
/** Runs and what ends them: of such texts expressions are slow that are slow of any. */
const runs = [' ', '\n', ' \n', '\u3000', 'a', 'aA', '1', '.', '-', '一', '\u0301', "'", "'s", ' a', ' .', '\u{1f600}'];
const ends = ['', 'x', '1', '(', '一', '\n'];

/** Processor time of a long probe that is beyond doubt, in ms, and how many times that of one a quarter as long. */
const slowMs = 100;
const slowRatio = 9;
/** By a clock, after which a probe is stopped. */
const maxProbeMs = 2_000;

/** Files that were found linear, by their expressions: a host loads adapters and models of one kind. */
const known = new Set<string>();

/** A tokenizer of a model's file. Throws `INVALID_MODEL` for one that hostile texts would stop. */
export function newTokenizer(file: PatternFile, config: object): Tokenizer {
  const linear = withLinearPatterns(file);
  const tokenizer = new Tokenizer(linear, config);
  checkPatterns(tokenizer, linear);
  return tokenizer;
}

/**
 * Throws for a tokenizer whose expressions take more than linear time for some run of characters: one text of a caller
 * would stop the model for minutes.
 */
function checkPatterns(tokenizer: Tokenizer, { pre_tokenizer: preTokenizer, normalizer }: PatternFile): void {
  const key = JSON.stringify([preTokenizer, normalizer]);
  if (!key.includes('"Regex"') || known.has(key)) return;
  for (const run of runs) for (const end of ends) if (isSlowFor(tokenizer, run, end)) throw tooSlow();
  known.add(key);
}

function tooSlow(): PlatformError {
  const reason = 'an expression of it takes time that grows faster than a text';
  return new PlatformError('INVALID_MODEL', `The file tokenizer.json cannot be used: ${reason}.`, 'tokenizer.json');
}

function isSlowFor(tokenizer: Tokenizer, run: string, end: string): boolean {
  const timeOf = (length: number): number => probeMs(tokenizer, run.repeat(length / run.length) + end);
  // Once may be the collection of garbage that the loading of a model leaves.
  for (let attempt = 0; attempt < 3; attempt++) {
    const short = timeOf(shortProbe);
    if (short < Infinity && timeOf(longProbe) < Math.max(slowMs, short * slowRatio)) return false;
  }
  return true;
}

/** Processor time; infinite for a probe that was stopped. */
function probeMs(tokenizer: Tokenizer, text: string): number {
  const { normalizer, pre_tokenizer: preTokenizer } = tokenizer as unknown as TextParts;
  const timer = new WorkTimer();
  try {
    callWithin(maxProbeMs, () => {
      const normalized = normalizer === null ? text : normalizer(text);
      preTokenizer?.(normalized, { section_index: 0 });
    });
  } catch (error) {
    if (!(error instanceof CallTimeout)) throw error;
    // On a machine that had no time for it, it says nothing.
    if (timer.ms > slowMs) return Infinity;
  }
  return timer.ms;
}

/** Members of the library's class used here, which its types do not expose. */
interface TextParts {
  normalizer: ((text: string) => string) | null;
  pre_tokenizer: ((text: string, options: { section_index: number }) => string[]) | null;
}

/** Shorter texts take no time worth a clock. */
const timedCharacters = 4_096;
/** By a clock, which a busy machine lets go on: some ten times what a slow one needs. */
const baseMs = 5_000;
const msForThousand = 20;

/** Encodes a text, which is refused after a time that no text takes but one that a foreign expression is slow for. */
export function encodeInTime<Result>(text: string, encode: () => Result): Result {
  if (text.length < timedCharacters) return encode();
  try {
    return callWithin(baseMs + Math.ceil(text.length / 1_000) * msForThousand, encode);
  } catch (error) {
    if (!(error instanceof CallTimeout)) throw error;
    throw new PlatformError('INVALID_REQUEST', 'This text takes too long to be split into tokens.');
  }
}
