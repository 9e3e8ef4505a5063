import { Injectable } from '#platform/injection';
import type { RawQueries } from '#platform/prisma';
import { JobQuote, type ReservableJob, ReservationRefused } from './job-quote.js';
import { LedgerRepository } from './ledger.repository.js';

/**
 * Reserves the worst case in the transaction that admits the job: no job exists without its reservation, and no
 * reservation without its job. An admission step of `#jobs`.
 */
@Injectable()
export class ReservationStep {
  /** Resolves to a `ReservationRefused` for each job that cannot be paid; nothing is reserved for it. */
  async admit(
    transaction: RawQueries,
    admissions: readonly { job: ReservableJob; quote: unknown }[],
  ): Promise<(ReservationRefused | null)[]> {
    const requests = admissions.map(({ job, quote }) => {
      if (!(quote instanceof JobQuote)) throw new Error(`The job ${job.requestId} came without a quote.`);
      return { job, quote };
    });
    const reserved = await new LedgerRepository(transaction).reserve(requests);
    return reserved.map(({ result, grantableNano, balanceBefore }, position) => {
      const quote = requests[position]?.quote;
      if (quote) quote.balanceBefore = balanceBefore;
      return result === 'reserved' || result === 'repeated' ? null : new ReservationRefused(result, grantableNano);
    });
  }
}
