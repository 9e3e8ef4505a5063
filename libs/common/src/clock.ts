/** The time, injectable for tests. Durations use `monotonicMs`, dates use `nowMs`. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Milliseconds from an arbitrary origin that never go backwards. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
