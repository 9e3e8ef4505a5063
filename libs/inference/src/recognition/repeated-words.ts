/** Normalizes a word for comparison: no case, no punctuation. */
function plain(word: string): string {
  return word
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Number of trailing words used to find the overlap of two windows. */
const comparedWords = 12;

export function lastWords(text: string): string[] {
  return text.split(/\s+/).filter(Boolean).slice(-comparedWords);
}

/**
 * Removes the words at the start of a text that repeat the end of the previous window, which shared some seconds of
 * audio. The longest matching run is removed. A word at the cut may be misheard, so one word before a run of two or
 * more is removed too.
 */
export function withoutRepeated(tail: readonly string[], text: string): string {
  const words = text.split(/\s+/).filter(Boolean);
  const before = tail.map(plain);
  const after = words.map(plain);
  const repeated = repeatedWords(before, after);
  return repeated === 0 ? words.join(' ') : words.slice(repeated).join(' ');
}

function repeatedWords(before: string[], after: string[]): number {
  for (let run = Math.min(before.length, after.length); run > 0; run--) {
    const ending = before.slice(-run);
    for (const skipped of run > 1 ? [0, 1] : [0]) {
      if (ending.every((word, index) => word !== '' && word === after[skipped + index])) return skipped + run;
    }
  }
  return 0;
}
