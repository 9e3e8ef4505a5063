import { deflateSync } from 'node:zlib';

/** Bytes of a text over those of its deflated form: text that repeats itself packs well. */
export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text.trim());
  return bytes.length === 0 ? 0 : bytes.length / deflateSync(bytes).length;
}

const longestPeriod = 24;
const shortestRun = 36;
const minRepeats = 5;

/**
 * How many tokens repeat at the end without an end in sight: the same few over and over. Zero where none do. A
 * recogniser in such a loop writes on until its room is used up.
 */
export function loopedTokens(tokens: readonly number[]): number {
  for (let period = 1; period <= longestPeriod; period++) {
    let run = 0;
    for (let at = tokens.length - 1; at >= period && tokens[at] === tokens[at - period]; at--) run++;
    const length = run + period;
    if (length >= shortestRun && length >= minRepeats * period) return length - period;
  }
  return 0;
}
