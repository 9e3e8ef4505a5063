import { type Currency, formatNanos, type NanoUsd, PlatformError } from '#common';
import { Injectable } from '#platform/injection';
import {
  type EntryPosition,
  LedgerEntriesRepository,
  type LedgerLine,
  type PlacedLine,
} from './ledger-entries.repository.js';
import { type AccountBalance, type CreditKind, LedgerRepository } from './ledger.repository.js';
import type { OpenReservations, ReservationFlow, VerifyReport } from './ledger.repository.js';
import { LedgerVerificationRepository, type RecordedVerification } from './ledger-verification.repository.js';

export interface Credit {
  accountId: string;
  currency: Currency;
  /** Positive, also for a revocation. */
  amountNano: NanoUsd;
  /** A credit with a reference is posted once, however often it is requested. */
  reference?: string;
  note?: string;
}

/** Ledger operations of operators and other libraries, besides the steps that every job takes. */
@Injectable()
export class LedgerService {
  constructor(
    private readonly repository: LedgerRepository,
    private readonly history: LedgerEntriesRepository,
    private readonly verifications: LedgerVerificationRepository,
  ) {}

  /**
   * Posts credit (`top_up` was paid, `grant` is free), or revokes available credit (`revoke`). Resolves to false when
   * this credit was already posted under its reference. Rejects with `NOT_FOUND` for an unknown account,
   * `INSUFFICIENT_BALANCE` when less is available than shall be revoked, and `INVALID_REQUEST` for a reference that
   * another credit uses.
   */
  async credit(kind: CreditKind, credit: Credit): Promise<boolean> {
    const { accountId, amountNano } = credit;
    if (amountNano <= 0n) throw new PlatformError('INVALID_REQUEST', 'A credit must be more than zero.');
    await this.balance(accountId);
    const { reference = null, note = '' } = credit;
    const result = await this.repository.credit(kind, { ...credit, reference, note }).catch(async (error: unknown) => {
      // Two accounts, one reference, at the same time: each waits for its own lock, and the second write is refused.
      if (reference === null || !(await this.repository.findCredit(reference))) throw error;
      return { result: 'repeated' as const, amountNano };
    });
    if (result.result === 'insufficient_balance') {
      const free = formatNanos(result.amountNano);
      throw new PlatformError('INSUFFICIENT_BALANCE', `Only ${free} ${credit.currency} of the account are free.`);
    }
    if (result.result === 'repeated' && reference !== null) await this.assertSame(kind, { ...credit, reference });
    return result.result === 'posted';
  }

  /** Returns whether anything was posted under a reference. */
  async hasCredit(reference: string): Promise<boolean> {
    return (await this.repository.findCredit(reference)) !== null;
  }

  /**
   * Sets the stake behind the daily DIEM allowance; resolves to that allowance. Today's allowance changes immediately.
   */
  async setStake(accountId: string, stakeNano: NanoUsd): Promise<NanoUsd> {
    if (stakeNano < 0n) throw new PlatformError('INVALID_REQUEST', 'A stake cannot be negative.');
    await this.balance(accountId);
    return this.repository.setStake(accountId, stakeNano);
  }

  /** Rejects with `NOT_FOUND`. */
  async balance(accountId: string): Promise<AccountBalance> {
    const balance = await this.repository.balance(accountId);
    if (!balance) throw new PlatformError('NOT_FOUND', `There is no account ${accountId}.`);
    return balance;
  }

  private async assertSame(kind: CreditKind, credit: Credit & { reference: string }): Promise<void> {
    const { accountId, currency, amountNano, reference } = credit;
    const posted = await this.repository.findCredit(reference);
    if (!posted) return;
    const same = posted.kind === kind && posted.accountId === accountId.toLowerCase();
    if (same && posted.currency === currency && posted.amountNano === amountNano) return;
    const found = `a ${posted.kind} of ${formatNanos(posted.amountNano)} ${posted.currency} for ${posted.accountId}`;
    const message = `The reference ${reference} stands for another credit: ${found}. Nothing was posted.`;
    throw new PlatformError('INVALID_REQUEST', message, 'reference');
  }

  /** Returns what a closed request was charged; null while it is open, and without a reservation. */
  async chargeOf(requestId: string): Promise<NanoUsd | null> {
    return this.repository.findCharge(requestId);
  }

  /** Returns the entries of an account, newest first. */
  async entries(accountId: string, limit: number): Promise<LedgerLine[]> {
    const lines = await this.history.page(accountId, null, limit);
    return lines.map(({ entryId: _entryId, enteredAt: _enteredAt, ...line }) => line);
  }

  /**
   * Returns up to `limit` entries of an account behind one, newest first, with their places in the history. Rejects with
   * `REQUEST_TIMEOUT` when the database takes too long.
   */
  async entriesAfter(accountId: string, after: EntryPosition | null, limit: number): Promise<PlacedLine[]> {
    return this.history.page(accountId, after, limit);
  }

  /** Returns what a request of the account was charged, line by line. */
  async entriesOfRequest(accountId: string, requestId: string): Promise<LedgerLine[]> {
    return this.history.ofRequest(accountId, requestId);
  }

  /** Reads only the open reservations, however large the ledger is. */
  async openReservations(): Promise<OpenReservations> {
    return this.repository.openReservations();
  }

  /** Returns whether reservations are closed: how many are open, and whether any was closed in the last `windowMs`. */
  async reservationFlow(windowMs: number): Promise<ReservationFlow> {
    return this.repository.reservationFlow(windowMs);
  }

  /** Verifies the ledger and records what was found, for those who look at it later. */
  async verifyAndRecord(): Promise<VerifyReport> {
    const startedMs = performance.now();
    const report = await this.repository.verify();
    const tookMs = Math.round(performance.now() - startedMs);
    // A report that cannot be recorded is still a report.
    await this.verifications.record({ tookMs, breaks: countsOf(report) }).catch(() => undefined);
    return report;
  }

  /** Returns the latest verification by ops; null before the first one. */
  async lastVerification(): Promise<RecordedVerification | null> {
    return this.verifications.latest();
  }

  /** Verifies the ledger, under any load. */
  async verify(): Promise<VerifyReport> {
    return this.repository.verify();
  }
}

/** Returns true when nothing is broken. */
export function isConsistent({ breaks }: VerifyReport): boolean {
  return Object.values(breaks).every((count) => BigInt(count) === 0n);
}

/** The breaks of a report as numbers, which JSON can carry. */
export function countsOf({ breaks }: VerifyReport): Record<string, number> {
  return Object.fromEntries(Object.entries(breaks).map(([check, count]) => [check, Number(count)]));
}
