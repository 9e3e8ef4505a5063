/**
 * What the engine keeps of the past of attention layers with a window, in positions of a row: the window, `slack` before
 * it, up to `grain` more, the same at the end of the prompt, and the first `head`.
 */
export const windowCacheLimits = {
  /** Positions are dropped in multiples of this, so that a row is rarely moved. */
  grain: 64,
  /** A prompt that ends a little earlier may still copy the row. */
  slack: 64,
  /** The beginning of a row, which later prompts may have in common with it. */
  head: 1024,
  /** New positions before older ones are dropped: a chunk of a prompt. */
  chunk: 64,
  /** Rows of finished requests that are kept for later prompts. */
  finishedRows: 64,
} as const;

/** Returns the most positions that all rows of layers with a window of `size` keep, of `tokens` in the whole cache. */
export function windowCachePositions(size: number, { slots, tokens }: { slots: number; tokens: number }): number {
  const { grain, slack, head, chunk, finishedRows } = windowCacheLimits;
  return Math.min(tokens, (slots + finishedRows) * (2 * (size + grain + slack) + head + chunk));
}
