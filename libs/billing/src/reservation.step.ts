import { Injectable } from '#platform/injection';
import type { RawQueries } from '#platform/prisma';
import { JobQuote, type ReservableJob } from './job-quote.js';
import { LedgerRepository } from './ledger.repository.js';
import { ReservationRefused } from './reservation-refused.js';
import { KeyUsageRepository } from './usage/key-usage.repository.js';

/**
 * Reserves the worst case in the transaction that admits the job: no job exists without its reservation, and no
 * reservation without its job. An admission step of `#jobs`.
 */
@Injectable()
export class ReservationStep {
  constructor(
    private readonly ledger: LedgerRepository,
    private readonly keys: KeyUsageRepository,
  ) {}

  /** Resolves to a `ReservationRefused` for each job that cannot be paid; nothing is reserved for it. */
  async admit(
    transaction: RawQueries,
    admissions: readonly { job: ReservableJob; quote: unknown }[],
  ): Promise<(ReservationRefused | null)[]> {
    const requests = admissions.map(({ job, quote }) => {
      if (!(quote instanceof JobQuote)) throw new Error(`The job ${job.requestId} came without a quote.`);
      return { job, quote };
    });
    const answers: (ReservationRefused | null)[] = [];
    const reserved = await this.ledger.reserve(requests, transaction);
    for (const [position, { job, quote }] of requests.entries()) {
      const { result, grantableNano, balanceBefore } = reserved[position] ?? unanswered(job);
      quote.balanceBefore = balanceBefore;
      if (result === 'reserved' || result === 'repeated') answers.push(null);
      else {
        const isKeyLimit = result !== 'insufficient_balance';
        const key = isKeyLimit ? await this.keys.standingOf(job.apiKeyId, transaction) : null;
        answers.push(new ReservationRefused({ result, askedNano: quote.amountNano, grantableNano, key }));
      }
    }
    return answers;
  }
}

function unanswered({ requestId }: ReservableJob): never {
  throw new Error(`The ledger did not answer for the job ${requestId}.`);
}
