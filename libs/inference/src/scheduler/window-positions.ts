/** How much of the past of layers with a window is kept, as in `windowCacheLimits`. */
export interface WindowLimits {
  grain: number;
  slack: number;
  head: number;
}

/**
 * Positions of a row: `length` in layers that see the whole context, and those from `start` on in layers with a window.
 */
export interface Span {
  length: number;
  start: number;
}

/**
 * Returns the first position that layers with a window keep behind `length` positions. It depends on nothing else:
 * sums over the past are rounded alike whatever other rows run and whichever prefix was copied.
 */
export function windowStart(length: number, window: number, { grain, slack }: WindowLimits): number {
  const unseen = Math.max(0, length - (window - 1) - slack);
  return unseen - (unseen % grain);
}

/** Returns the largest length up to `wanted` whose window is within one of the spans that a row still has. */
export function copyableLength(wanted: number, spans: readonly Span[], window: number, limits: WindowLimits): number {
  const lengths = spans.map((span) => {
    const length = Math.min(wanted, span.length);
    return windowStart(length, window, limits) >= span.start ? length : 0;
  });
  return Math.max(0, ...lengths);
}
