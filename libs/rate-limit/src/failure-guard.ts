import { type Clock, PlatformError, systemClock } from '#common';
import { refusedForFailures } from './refusal.js';
import type { FailureRule, LimitStore } from './store/limit-store.js';

/** Blocks this process remembers; the store knows all of them. */
const maxRemembered = 10_000;

/** How long a guard stays blocked. */
export interface Block {
  leftMs: number;
  /** Ms since the epoch, by the store's clock. */
  endsAtMs: number;
}

/**
 * Blocks callers whose requests fail too often. A guard is the subject of the rule: a key, or an address that sends
 * none. The process that saw the last failure refuses from memory immediately; others learn of the block with their
 * next call to the store.
 */
export class FailureGuard {
  /** With the end on the monotonic clock. */
  private readonly blocks = new Map<string, { untilMs: number; endsAtMs: number }>();

  /** Without a rule nothing is ever blocked. */
  constructor(
    private readonly store: LimitStore,
    private readonly rule: FailureRule | null,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Returns the block of a guard, as far as this process knows. */
  block(guard: string): Block | null {
    const known = this.blocks.get(guard);
    if (known === undefined) return null;
    const leftMs = known.untilMs - this.clock.monotonicMs();
    if (leftMs > 0) return { leftMs, endsAtMs: known.endsAtMs };
    this.blocks.delete(guard);
    return null;
  }

  /** Returns the response to a blocked caller. */
  refusal(blockedMs: number): PlatformError {
    if (this.rule === null) throw new Error('Nobody is blocked without a rule.');
    return refusedForFailures(this.rule, blockedMs);
  }

  /** Counts a failure; resolves to the time of the block it started, in ms since the epoch, or null. Never rejects. */
  async failed(guard: string): Promise<{ beganAtMs: number } | null> {
    if (this.rule === null) return null;
    try {
      const answer = await this.store.fail(guard, this.rule);
      if (answer.blockedMs > 0) this.learn(guard, answer);
      return answer.began ? { beganAtMs: answer.nowMs } : null;
    } catch {
      // An unavailable store counts nothing; the failure itself has been reported.
      return null;
    }
  }

  /** Remembers what the store reports about a blocked guard. */
  learn(guard: string, { blockedMs, nowMs }: { blockedMs: number; nowMs: number }): Block {
    const block = { untilMs: this.clock.monotonicMs() + blockedMs, endsAtMs: nowMs + blockedMs };
    this.blocks.delete(guard);
    this.blocks.set(guard, block);
    // A map iterates in insertion order: the first one was learned first.
    const oldest = this.blocks.size > maxRemembered ? this.blocks.keys().next().value : undefined;
    if (oldest !== undefined) this.blocks.delete(oldest);
    return { leftMs: blockedMs, endsAtMs: block.endsAtMs };
  }
}

/** Returns the guard of a key, or of an address. */
export const guardOfKey = (apiKeyId: string): string => `failures:key:${apiKeyId}`;
export const guardOfAddress = (address: string): string => `failures:address:${address}`;
