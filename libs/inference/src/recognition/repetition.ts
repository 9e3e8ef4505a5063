import { deflateSync } from 'node:zlib';

/** Returns the ratio of a text's bytes to its deflated bytes. Repetitive text compresses well. */
export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text.trim());
  return bytes.length === 0 ? 0 : bytes.length / deflateSync(bytes).length;
}

const longestPeriod = 24;
const shortestRun = 36;
const minRepeats = 5;

/**
 * Returns how many trailing tokens repeat the same short sequence; 0 for none. A recognizer in such a loop writes until
 * its token limit.
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
