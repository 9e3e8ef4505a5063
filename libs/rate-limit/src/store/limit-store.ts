import type { LimitWindow } from './limit-window.js';

/** A window that a request must fit into. Null is no limit; the request is counted anyway. */
export interface WindowDemand {
  key: string;
  requests: number | null;
  tokens: number | null;
}

export interface TakeDemand {
  /** Nothing is granted while this guard is blocked; see `fail`. */
  guard: string;
  /**
   * All of them or none. Use one order of kinds everywhere (account, key, installation): a store may lock them one
   * after the other.
   */
  windows: readonly WindowDemand[];
  /** Tokens to reserve, besides the one request. */
  tokens: number;
  /** Default: that of the store. All windows of a key have one shape. */
  window?: LimitWindow;
}

/** How full a window was before anything was taken. Times in ms from `nowMs` of the result. */
export interface WindowState {
  requests: number;
  tokens: number;
  /** Which kind lacks capacity. */
  lacking: 'requests' | 'tokens' | null;
  /** Time until it fits, if nothing else is taken; 0 when nothing is lacking. A whole window when it never fits. */
  waitMs: number;
  /** Time until the oldest of the requests, and of the tokens, leave; 0 where there are none. */
  requestsResetMs: number;
  tokensResetMs: number;
}

export interface TakeAnswer {
  granted: boolean;
  /** Ms the guard stays blocked; then `states` is empty. */
  blockedMs: number;
  /** Ms since the epoch, by the store's clock. */
  nowMs: number;
  /** Slot of the reserved tokens; see `correct`. */
  slot: number;
  /** One per window, in order. */
  states: WindowState[];
}

/** The rule for blocking a guard. */
export interface FailureRule {
  /** Failures that are tolerated within a window; the next one blocks. */
  max: number;
  window: LimitWindow;
  blockMs: number;
}

export interface FailAnswer {
  blockedMs: number;
  /** True for the single failure that blocked. */
  began: boolean;
  nowMs: number;
}

/** An open request, by the keys it counts for. */
export interface Lease {
  leaseId: string;
  keys: readonly string[];
}

export interface LeaseDemand extends Lease {
  /** One per key. */
  limits: readonly number[];
  /** The lease expires after this time without renewal, in ms. */
  lifetimeMs: number;
}

export interface LeaseAnswer {
  granted: boolean;
  /** Other open requests of each key, in order. */
  open: number[];
}

/**
 * Storage of the windows. Each call is one atomic step by the store's clock, shared by every process that uses the
 * store. None waits longer than about a second for an unavailable store; it then rejects with `SERVICE_UNAVAILABLE`.
 */
export abstract class LimitStore {
  abstract take(demand: TakeDemand): Promise<TakeAnswer>;
  /** Adds `change` to the tokens reserved in a slot; windows that the slot has left are unchanged. */
  abstract correct(keys: readonly string[], slot: number, change: number): Promise<void>;
  abstract fail(guard: string, rule: FailureRule): Promise<FailAnswer>;
  /** Opens a request for all keys or, where one has reached its limit, for none. Use one order of kinds everywhere. */
  abstract open(demand: LeaseDemand): Promise<LeaseAnswer>;
  /** Renews leases; those that have ended or expired stay so. */
  abstract renew(leases: readonly Lease[], lifetimeMs: number): Promise<void>;
  abstract release(lease: Lease): Promise<void>;
  /** Resolves when the store responds. For readiness. */
  abstract ping(): Promise<void>;
  abstract close(): Promise<void>;
}
