/** Words compared as a listener does: without case and punctuation. */
function plain(word: string): string {
  return word
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** How many of the last words are kept to find the overlap of two windows. */
const keptWords = 12;

export function lastWords(text: string): string[] {
  return text.split(/\s+/).filter(Boolean).slice(-keptWords);
}

/**
 * Text of a window without the words that the window before ended with; both heard the seconds they share. The longest
 * run that ends the old text and begins the new one goes. A word at the cut may have been misheard on either side, so
 * one word before the run is dropped too where the run itself has two or more.
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
