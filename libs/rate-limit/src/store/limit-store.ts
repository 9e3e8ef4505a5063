import type { LimitWindow } from './limit-window.js';

/** One window a request has to fit into. Null is no limit; what passes is counted all the same. */
export interface WindowDemand {
  key: string;
  requests: number | null;
  tokens: number | null;
}

export interface TakeDemand {
  /** Nothing is granted while this guard is blocked; see `fail`. */
  guard: string;
  /**
   * All of them or none. Name them in one order of kinds everywhere (account, key, installation): a store may lock
   * them one after the other.
   */
  windows: readonly WindowDemand[];
  /** Tokens to reserve, beside the one request. */
  tokens: number;
}

/** How full a window was when it was asked, before anything was taken. Times in ms from the answer's `nowMs`. */
export interface WindowState {
  requests: number;
  tokens: number;
  /** What has no room. */
  lacking: 'requests' | 'tokens' | null;
  /** Until it has room, if nobody else takes it; 0 where nothing is lacking. A whole window where it never has. */
  waitMs: number;
  /** Until the oldest of the requests, and of the tokens, leave; 0 where there are none. */
  requestsResetMs: number;
  tokensResetMs: number;
}

export interface TakeAnswer {
  granted: boolean;
  /** Ms the guard stays blocked; then `states` is empty. */
  blockedMs: number;
  /** Ms since the epoch, by the store's clock. */
  nowMs: number;
  /** Where the tokens stand; see `correct`. */
  slot: number;
  /** One per window, in order. */
  states: WindowState[];
}

/** When a guard is blocked, and for how long. */
export interface FailureRule {
  /** Failures that pass in a window; the next one blocks. */
  max: number;
  window: LimitWindow;
  blockMs: number;
}

export interface FailAnswer {
  blockedMs: number;
  /** True for the one failure that blocked. */
  began: boolean;
  nowMs: number;
}

/**
 * Where windows live. Each call is one atomic step by the store's clock, shared by every process that uses the store;
 * none waits longer than about a second for a store that is away, and rejects with `SERVICE_UNAVAILABLE`.
 */
export abstract class LimitStore {
  abstract take(demand: TakeDemand): Promise<TakeAnswer>;
  /** Adds `change` to the tokens reserved in a slot; windows that it has left stay as they are. */
  abstract correct(keys: readonly string[], slot: number, change: number): Promise<void>;
  abstract fail(guard: string, rule: FailureRule): Promise<FailAnswer>;
  /** Resolves when the store answers. For readiness. */
  abstract ping(): Promise<void>;
  abstract close(): Promise<void>;
}
