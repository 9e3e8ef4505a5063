/**
 * The shape of a sliding window. Requests are counted in slots; a slot leaves `lengthMs` after its end, so that no
 * stretch of `lengthMs` ever exceeds the limit. Of a limit that is always exhausted, `lengthMs / (lengthMs + slotMs)`
 * is usable.
 */
export interface LimitWindow {
  lengthMs: number;
  /** Divides `lengthMs`. */
  slotMs: number;
}

/** A minute in slots, of which 99.2 % is usable. */
export const minuteWindow: LimitWindow = { lengthMs: 60_000, slotMs: 500 };

/** How long requests that were taken in advance may be used, in ms. */
export const advanceMs = 1_000;

/** A minute for requests that were taken up to `advanceMs` before they came: longer by this time, so that no minute exceeds the limit. */
export const advanceWindowShape: LimitWindow = { lengthMs: 60_000 + advanceMs, slotMs: 500 };

/** A day in slots of 24 minutes. */
export const dayWindow: LimitWindow = { lengthMs: 86_400_000, slotMs: 1_440_000 };

/** Returns the ms from `nowMs` until what was counted in `slot` has left. */
export function msUntilSlotLeaves(slot: number, nowMs: number, { lengthMs, slotMs }: LimitWindow): number {
  return (slot + 1) * slotMs + lengthMs - nowMs;
}

/** Returns a window of any length, slightly longer where slots do not divide it. */
export function windowOf(lengthMs: number): LimitWindow {
  const slotMs = Math.ceil(lengthMs / 60);
  return { lengthMs: slotMs * 60, slotMs };
}
