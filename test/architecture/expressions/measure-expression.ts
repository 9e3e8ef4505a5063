import { leastProcessorMs } from '#test/processor-time';
import { buildAutomaton } from './automaton.js';
import { findAmbiguity } from './find-ambiguity.js';
import { parseExpression } from './parse-expression.js';

/** What may make a match fail at the end. */
const endings = ['', '\u0000', '\n', '!', 'a', '0', '/'];

/** Processor time that one search of a text takes, in ms. */
export function searchMs({ source, flags }: RegExp, text: string): number {
  const expression = new RegExp(source, flags.replaceAll(/[gy]/g, ''));
  return leastProcessorMs(100, () => expression.test(text));
}

/** Texts of a length that make a search slow, made of what `findAmbiguity` names. */
export function texts(expression: RegExp, length: number): string[] {
  const ambiguity = findAmbiguity(expression);
  const runs = characterRuns(expression, length);
  if (ambiguity === null || ambiguity.pump === '') return runs;
  const { prefix, pump } = ambiguity;
  const repeated = prefix + pump.repeat(Math.max(1, Math.floor((length - prefix.length) / pump.length)));
  return [...runs, ...endings.map((ending) => repeated.slice(0, length - 1) + ending)];
}

/** Long runs of each character that an expression distinguishes. */
export function characterRuns({ source, flags }: RegExp, length: number): string[] {
  return charactersOf({ source, flags }).flatMap((character) => {
    const run = character.repeat(length / character.length - 1);
    return [run, `${run}\u0000`, `${run}!`];
  });
}

function charactersOf({ source, flags }: Pick<RegExp, 'source' | 'flags'>): readonly string[] {
  try {
    return buildAutomaton(parseExpression(source), flags).characters;
  } catch {
    return ['a', '0', ' ', '.', '"', '\n'];
  }
}
