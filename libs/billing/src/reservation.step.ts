import type { Prisma } from '#platform/prisma';
import { JobQuote, type ReservableJob, ReservationRefused } from './job-quote.js';
import { LedgerRepository } from './ledger.repository.js';

/**
 * Reserves the worst case in the transaction that admits the job: there is no job without its hold, and no hold
 * without its job. An admission step of `#jobs`.
 */
export class ReservationStep {
  /** Rejects with `ReservationRefused`, after which nothing was admitted. */
  async admit(
    transaction: Prisma.TransactionClient,
    job: ReservableJob,
    _payload: object,
    quote: unknown,
  ): Promise<void> {
    if (!(quote instanceof JobQuote)) throw new Error(`The job ${job.requestId} came without a quote.`);
    const reserved = await new LedgerRepository(transaction).reserve(job, quote);
    quote.balanceBefore = reserved.balanceBefore;
    if (reserved.outcome === 'reserved' || reserved.outcome === 'repeated') return;
    throw new ReservationRefused(reserved.outcome, reserved.grantableNano);
  }
}
