import { randomUUID } from 'node:crypto';
import type { Lease, LimitStore } from './store/limit-store.js';

export interface TurnPoolOptions {
  store: Pick<LimitStore, 'open' | 'release'>;
  /** Of all turns with this key in the store. */
  key: string;
  /** Called when nothing is held or awaited any more. */
  onEmpty: () => void;
}

/** A turn that this replica holds in the store, for one request after the other. */
interface Turn {
  lease: Lease;
  /** Turns of the account. */
  limit: number;
  /** Ends its use here, so that other replicas get it. */
  untilMs: number;
  /** Gives it back while no request has it. */
  idleTimer?: NodeJS.Timeout;
}

interface Waiter {
  limit: number;
  resolve: (leave: () => void) => void;
  reject: (error: unknown) => void;
}

/** Time after which a turn whose replica died ends, in ms; more than `maxHoldMs` and the time of a request. */
const lifetimeMs = 90_000;
/**
 * How long a turn stays here without a request, in ms: while others are free, and while all are taken, when another
 * replica may wait. The next request of a client that waits for its responses comes sooner.
 */
const lingerMs = { free: 1_000, taken: 50 };
/** After the second time that the last free turn stayed in vain, turns go at once for this time, in ms; then for twice as long. */
const atOnceMs = { first: 1_000, max: 30_000 };
/** How long a turn serves one request after the other, in ms. Each turn gets a time of its own, so that not all end at once. */
const maxHoldMs = { min: 1_500, max: 2_500 };
/** Pauses between two attempts to get a turn, in ms: short ones at first, because the last request may be about to end. */
const firstPauseMs = 3;
const maxPauseMs = 50;
/** No turn is taken for this time after one had to end, in ms: longer than other replicas pause between two attempts. */
const yieldMs = 60;

/**
 * Turns of the requests of one account. The store bounds them over all replicas; while requests follow each other, they
 * use the same turn here, so that most ask no store.
 */
export class TurnPool {
  private readonly waiters: Waiter[] = [];
  private readonly idle: Turn[] = [];
  private held = 0;
  private isAsking = false;
  private pauseMs = firstPauseMs;
  private resumesAtMs = -Infinity;
  private enteredAtMs = -Infinity;
  private lingersFromMs = -Infinity;
  private atOnceMs = 0;
  /** Turns of other replicas, when the store was asked last. */
  private others = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: TurnPoolOptions) {}

  /** Requests that wait here. */
  get waiting(): number {
    return this.waiters.length;
  }

  /** Resolves to the function that ends the turn. Rejects with the signal's reason, or as the store does. */
  async enter(limit: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    this.enteredAtMs = performance.now();
    const turn = this.takeIdle();
    if (turn !== null) {
      this.atOnceMs = 0;
      return this.leaveOf(turn);
    }
    return await new Promise((resolve, reject) => {
      const settle = (): void => signal.removeEventListener('abort', abort);
      const waiter: Waiter = {
        limit,
        resolve: (leave) => (settle(), resolve(leave)),
        reject: (error) => (settle(), reject(error as Error)),
      };
      const abort = (): void => {
        const index = this.waiters.indexOf(waiter);
        if (index >= 0) this.waiters.splice(index, 1);
        waiter.reject(signal.reason);
        this.reportEmpty();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.waiters.push(waiter);
      void this.ask();
    });
  }

  /** Gives back what no request uses. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    await Promise.all(this.idle.splice(0).map((turn) => this.release(turn)));
  }

  private takeIdle(): Turn | null {
    const turn = this.idle.pop();
    if (turn === undefined) return null;
    clearTimeout(turn.idleTimer);
    return turn;
  }

  private leaveOf(turn: Turn): () => void {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.pass(turn);
    };
  }

  /** Passes a turn on to the request that waits longest, or keeps it for the next one. */
  private pass(turn: Turn): void {
    if (performance.now() >= turn.untilMs) {
      this.resumesAtMs = performance.now() + yieldMs;
      void this.release(turn);
      return;
    }
    const next = this.waiters.shift();
    if (next !== undefined) return next.resolve(this.leaveOf(turn));
    const isTight = this.held + this.others >= turn.limit;
    if (isTight && performance.now() < this.lingersFromMs) return void this.release(turn);
    turn.idleTimer = setTimeout(() => this.endIdle(turn, isTight), isTight ? lingerMs.taken : lingerMs.free);
    turn.idleTimer.unref();
    this.idle.push(turn);
  }

  private endIdle(turn: Turn, isTight: boolean): void {
    this.idle.splice(this.idle.indexOf(turn), 1);
    void this.release(turn);
    // Some other turn was used meanwhile.
    if (!isTight || performance.now() - this.enteredAtMs < lingerMs.taken) return;
    this.lingersFromMs = performance.now() + this.atOnceMs;
    this.atOnceMs = Math.min(2 * this.atOnceMs || atOnceMs.first, atOnceMs.max);
  }

  private async release(turn: Turn): Promise<void> {
    clearTimeout(turn.idleTimer);
    // If the store does not respond, the lease expires.
    await this.options.store.release(turn.lease).catch(() => undefined);
    this.held -= 1;
    if (this.waiters.length > 0) void this.ask();
    this.reportEmpty();
  }

  /** Asks the store for a turn for the request that waits longest, one attempt at a time. */
  private async ask(): Promise<void> {
    const [first] = this.waiters;
    // With all turns of the account here, the next one that ends is passed on.
    if (first === undefined || this.isAsking || this.held >= first.limit) return;
    const restMs = this.resumesAtMs - performance.now();
    if (restMs > 0) return this.askLater(restMs);
    this.isAsking = true;
    const lease = { leaseId: `credits-${randomUUID()}`, keys: [this.options.key] };
    const lent = this.options.store.open({ ...lease, limits: [first.limit], lifetimeMs });
    try {
      const { granted, open } = await lent;
      this.isAsking = false;
      this.others = Math.max(0, (open[0] ?? 0) - this.held);
      if (granted) this.got(lease, first.limit);
      else this.askAgain();
    } catch (error) {
      this.isAsking = false;
      this.waiters.shift()?.reject(error);
      this.reportEmpty();
    }
    void this.ask();
  }

  private got(lease: Lease, limit: number): void {
    this.pauseMs = firstPauseMs;
    this.held += 1;
    const holdMs = maxHoldMs.min + Math.random() * (maxHoldMs.max - maxHoldMs.min);
    this.pass({ lease, limit, untilMs: performance.now() + holdMs });
  }

  private askAgain(): void {
    this.resumesAtMs = performance.now() + this.pauseMs;
    this.pauseMs = Math.min(2 * this.pauseMs, maxPauseMs);
  }

  private askLater(restMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), restMs);
  }

  private reportEmpty(): void {
    if (this.held === 0 && this.waiters.length === 0 && !this.isAsking) this.options.onEmpty();
  }
}
