/**
 * The shape of a sliding window. What happens is counted in slots; a slot leaves `lengthMs` after its end, so that no
 * stretch of `lengthMs` ever sees more than the limit, and of a limit that is always used up, `lengthMs / (lengthMs +
 * slotMs)` gets used.
 */
export interface LimitWindow {
  lengthMs: number;
  /** Divides `lengthMs`. */
  slotMs: number;
}

/** A minute in slots of which 99.2 % is usable. */
export const minuteWindow: LimitWindow = { lengthMs: 60_000, slotMs: 500 };

/** Ms from `nowMs` until what was counted in `slot` has left. */
export function msUntilSlotLeaves(slot: number, nowMs: number, { lengthMs, slotMs }: LimitWindow): number {
  return (slot + 1) * slotMs + lengthMs - nowMs;
}

/** A window of any length, a little longer where that does not divide. */
export function windowOf(lengthMs: number): LimitWindow {
  const slotMs = Math.ceil(lengthMs / 60);
  return { lengthMs: slotMs * 60, slotMs };
}
