import { PlatformError } from '#common';
import { LimitsConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { secondsOf } from './refusal.js';
import { RefusalCounter } from './refusal-counter.js';
import { LimitStore } from './store/limit-store.js';
import { dayWindow } from './store/limit-window.js';
import { TurnPool } from './turn-pool.js';
import { creditLock, creditWindow } from './window-keys.js';

/** A limit as `X-RateLimit-*` reports it. */
export interface ReachedLimit {
  limit: number;
  remaining: number;
  /** Unix time in seconds. */
  resetSeconds: number;
}

/** Whether a request may run. */
export interface CreditDecision {
  refusal: { error: PlatformError; reached: ReachedLimit } | null;
  /** Replaces what was taken by what was used; never rejects. */
  settle(credits: number): Promise<void>;
}

/** How long a request waits for its turn, in ms. */
const maxWaitMs = 5_000;
/** Requests of an account that wait for their turn in one replica at most. */
const maxWaiting = 100;

/**
 * Limits of requests that are counted in credits: how many an account uses in 24 hours, and how many of its requests run
 * at once. Both hold over all replicas.
 */
@Injectable()
export class CreditLimiter {
  /** Turns that this replica holds or waits for, by account. */
  private readonly turns = new Map<string, TurnPool>();

  constructor(
    private readonly store: LimitStore,
    /** Without rate limits, nothing is counted or refused. */
    private readonly config: LimitsConfig,
    private readonly refusals: RefusalCounter,
  ) {}

  /** Takes the most that a request may use. Rejects with `SERVICE_UNAVAILABLE` when the store is unavailable. */
  async take({
    accountId,
    credits,
    limit,
    isTrial = false,
  }: {
    accountId: string;
    credits: number;
    limit: number;
    /** A refusal is not counted. */
    isTrial?: boolean;
  }): Promise<CreditDecision> {
    const { store, config, refusals } = this;
    const unused = { refusal: null, settle: () => Promise.resolve() };
    if (!config.rateLimits) return unused;
    const key = creditWindow({ accountId });
    const windows = [{ key, requests: null, tokens: limit }];
    const { granted, slot, nowMs, states } = await store.take({
      guard: key,
      windows,
      tokens: credits,
      window: dayWindow,
    });
    const settle = async (used: number): Promise<void> => {
      // A count that cannot be corrected is too high until its slot leaves.
      await store.correct([key], slot, used - credits).catch(() => undefined);
    };
    if (granted) return { refusal: null, settle };
    if (!isTrial) refusals.count('user_credits');
    const { waitMs = dayWindow.lengthMs, tokens = limit } = states[0] ?? {};
    const remaining = Math.max(0, limit - tokens);
    const reached = { limit, remaining, resetSeconds: Math.ceil((nowMs + waitMs) / 1_000) };
    return { ...unused, refusal: { error: tooManyCredits({ credits, limit, remaining, waitMs }), reached } };
  }

  /**
   * Waits up to 5 s until fewer than `limit` requests of the account run. Resolves to the function that ends its turn.
   * Rejects with `CONCURRENCY_LIMIT_EXCEEDED`, with `SERVICE_UNAVAILABLE` when the store is unavailable, and with the
   * signal's reason.
   */
  async lock({ accountId, limit }: { accountId: string; limit: number }, signal: AbortSignal): Promise<() => void> {
    if (!this.config.rateLimits) return () => undefined;
    const turns = this.turnsOf(accountId);
    if (turns.waiting >= maxWaiting) throw this.refuseTurn(limit);
    const wait = new AbortController();
    const timer = setTimeout(() => wait.abort(this.refuseTurn(limit)), maxWaitMs);
    const leave = (): void => wait.abort(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      signal.throwIfAborted();
      return await turns.enter(limit, wait.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
  }

  /** Gives back the turns that no request uses. */
  async close(): Promise<void> {
    await Promise.all([...this.turns.values()].map((turns) => turns.close()));
  }

  private turnsOf(accountId: string): TurnPool {
    const known = this.turns.get(accountId);
    if (known !== undefined) return known;
    const onEmpty = (): void => void this.turns.delete(accountId);
    const turns = new TurnPool({ store: this.store, key: creditLock({ accountId }), onEmpty });
    this.turns.set(accountId, turns);
    return turns;
  }

  private refuseTurn(limit: number): PlatformError {
    this.refusals.count('user_concurrent');
    return tooManyAtOnce(limit);
  }
}

const count = (amount: number): string => amount.toLocaleString('en-US');

function tooManyCredits(request: { credits: number; limit: number; remaining: number; waitMs: number }): PlatformError {
  const { credits, limit, remaining, waitMs } = request;
  const rule = `this account may use ${count(limit)} credits in 24 hours`;
  if (credits > limit) {
    const message = `This request may use ${count(credits)} credits, and ${rule}.`;
    return new PlatformError('RATE_LIMIT_EXCEEDED', message, null, { retry: 'never' });
  }
  const afterSeconds = secondsOf(waitMs);
  const message =
    `Daily credit limit reached: ${rule}, of which ${count(remaining)} are left, and this request may use ` +
    `${count(credits)}. Try again in ${count(afterSeconds)} s.`;
  return new PlatformError('RATE_LIMIT_EXCEEDED', message, null, { retry: { afterSeconds } });
}

function tooManyAtOnce(limit: number): PlatformError {
  const running = limit === 1 ? 'another request of this account runs' : `${limit} requests of this account run`;
  const message = `Concurrent requests: ${running}, and no more may run at once. Wait until one ends.`;
  return new PlatformError('CONCURRENCY_LIMIT_EXCEEDED', message);
}
