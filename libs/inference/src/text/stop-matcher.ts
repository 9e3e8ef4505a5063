/** A stop string with its Knuth-Morris-Pratt table. */
interface Pattern {
  text: string;
  /** Length of the longest proper border of each prefix. */
  borders: Uint32Array;
  /** Number of pattern characters that the text ends with. */
  matched: number;
}

/**
 * Finds stop strings in text that arrives in pieces. Text that can no longer start a stop string is released
 * immediately; only the rest is held back. The result does not depend on the split: the stop string that completes
 * first wins, and of two that complete together the longer.
 */
export class StopMatcher {
  private readonly patterns: Pattern[];
  private pending = '';
  /** The stop string that ended the text; null before. */
  found: string | null = null;

  constructor(stops: readonly string[]) {
    this.patterns = stops.filter((stop) => stop !== '').map((text) => ({ text, borders: bordersOf(text), matched: 0 }));
  }

  /** Returns text that is safe to send, and whether a stop string was found; afterwards all text is dropped. */
  push(piece: string): { text: string; stopped: boolean } {
    if (this.found !== null) return { text: '', stopped: true };
    if (this.patterns.length === 0 || piece === '') return { text: piece, stopped: false };
    const text = this.pending + piece;
    for (let index = this.pending.length; index < text.length; index++) {
      const length = this.advance(text.charCodeAt(index));
      if (length === 0) continue;
      this.pending = '';
      this.found = text.slice(index + 1 - length, index + 1);
      return { text: text.slice(0, index + 1 - length), stopped: true };
    }
    const hold = Math.max(...this.patterns.map((pattern) => pattern.matched));
    this.pending = text.slice(text.length - hold);
    return { text: text.slice(0, text.length - hold), stopped: false };
  }

  /** Returns the held text when the input ends without a stop string. */
  flush(): string {
    const text = this.pending;
    this.pending = '';
    return text;
  }

  /** Feeds one UTF-16 unit; returns the length of the longest completed pattern, or 0. */
  private advance(unit: number): number {
    let longest = 0;
    for (const pattern of this.patterns) {
      let matched = pattern.matched;
      while (matched > 0 && pattern.text.charCodeAt(matched) !== unit) matched = pattern.borders[matched - 1] ?? 0;
      if (pattern.text.charCodeAt(matched) === unit) matched++;
      pattern.matched = matched;
      if (matched === pattern.text.length) longest = Math.max(longest, matched);
    }
    return longest;
  }
}

function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  let length = 0;
  for (let index = 1; index < text.length; index++) {
    while (length > 0 && text.charCodeAt(index) !== text.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (text.charCodeAt(index) === text.charCodeAt(length)) length++;
    borders[index] = length;
  }
  return borders;
}
