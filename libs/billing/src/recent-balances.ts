import { type Clock, systemClock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import type { BalanceBefore } from './job-quote.js';
import { LedgerService } from './ledger.service.js';

/** Maximum age of a balance, in ms. */
const cacheMs = 5_000;
const maxAccounts = 10_000;

interface Entry {
  /** Null: it could not be read. */
  balance: Promise<BalanceBefore | null>;
  /** On the monotonic clock. */
  untilMs: number;
}

/**
 * Caches account balances for responses that reserve nothing: one read serves an account for 5 s. Never base a billing
 * decision on it.
 */
@Injectable()
export class RecentBalances {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly ledger: LedgerService,
    @Optional() private readonly clock: Clock = systemClock,
  ) {}

  /** Returns null when it cannot be read at the moment. */
  async of(accountId: string): Promise<BalanceBefore | null> {
    const nowMs = this.clock.monotonicMs();
    const known = this.entries.get(accountId);
    if (known !== undefined && known.untilMs > nowMs) return await known.balance;
    const balance = this.ledger.balance(accountId).then(
      ({ diemNano, bundledNano, usdNano }) => ({ diemNano, usdNano: usdNano + bundledNano }),
      () => null,
    );
    this.entries.delete(accountId);
    this.entries.set(accountId, { balance, untilMs: nowMs + cacheMs });
    // A map iterates in insertion order: the first key is the oldest entry.
    const oldest = this.entries.size > maxAccounts ? this.entries.keys().next().value : undefined;
    if (oldest !== undefined) this.entries.delete(oldest);
    return await balance;
  }
}
