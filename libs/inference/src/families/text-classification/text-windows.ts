/** Characters that are tokenized at once. */
const segmentCharacters = 8_192;

/** Splits a text at spaces where it has some, because tokenizing a long one blocks the process. */
export function* splitSegments(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const end = from + segmentCharacters;
    const space = end < text.length ? text.lastIndexOf(' ', end) : -1;
    const to = space > from ? space : end;
    yield text.slice(from, to);
    from = to;
  }
}

/** Share of a window that the next one repeats, so that no phrase is only seen in halves. */
const overlapShare = 0.25;

/** Splits the ids of a text into windows of at most `size`; a short text, even an empty one, is one window. */
export function splitWindows(ids: readonly number[], size: number): number[][] {
  const step = Math.max(1, size - Math.floor(size * overlapShare));
  const windows = [ids.slice(0, size)];
  for (let from = step; from + size - step < ids.length; from += step) windows.push(ids.slice(from, from + size));
  return windows;
}

/**
 * Returns the probabilities of a text from those of its windows: the window that is least like the first class, which
 * is the harmless one, speaks for the whole text.
 */
export function joinWindows(windows: readonly (readonly number[])[]): number[] {
  const [first = [], ...others] = windows;
  return [...others.reduce((worst, window) => ((window[0] ?? 0) < (worst[0] ?? 0) ? window : worst), first)];
}

/** Turns scores into probabilities that sum up to 1. */
export function softmax(scores: ArrayLike<number>): number[] {
  const values = Array.from(scores);
  const max = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - max));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}
