import { type ErrorCode, errorEntry, type JobUsage } from '#common';
import { Inject, Injectable, Optional } from '#platform/injection';
import type { RawQueries } from '#platform/prisma';
import type { Pricing, ChargeLine } from '#model-registry/manifest';
import { JobMeter } from './job-meter.js';
import { type Closed, LedgerRepository, type ReservationClosing } from './ledger.repository.js';
import { MoneyMetrics } from './money.metrics.js';

/** What the step needs to know about a closed job. */
export interface SettleableJob {
  requestId: string;
  accountId: string;
  attempt: number;
  modality: string;
  modelId: string;
  errorCode: ErrorCode | null;
  usage: JobUsage | null;
}

/**
 * Settles or releases in the transaction that closes the job. What was delivered is charged at the price of its
 * admission, our failures cost nothing, and the unused part of the reservation is refunded. A closing step of `#jobs`.
 */
@Injectable()
export class SettlementStep {
  private readonly closed = new WeakMap<SettleableJob, Closed>();

  constructor(
    private readonly ledger: LedgerRepository,
    @Inject(JobMeter) private readonly meter: Meter,
    @Optional() private readonly metrics?: MoneyMetrics,
  ) {}

  /** Counts what was posted for a job; call it after its transaction has committed. */
  readonly afterwards = (job: SettleableJob): void => {
    const closed = this.closed.get(job);
    if (closed !== undefined) this.metrics?.closed(job, closed);
  };

  async close(transaction: RawQueries, jobs: readonly SettleableJob[]): Promise<void> {
    const paying = jobs.filter(({ usage, errorCode }) => usage !== null && paysForDelivery(errorCode));
    const ids = paying.map(({ requestId }) => requestId);
    const pricings = await this.ledger.findPricings(ids, transaction);
    // The account locks are held from here to the commit.
    const closings = jobs.map((job) => this.closingOf(job, pricings));
    const results = await this.ledger.close(closings, transaction.last ?? transaction);
    for (const [position, job] of jobs.entries()) {
      const closed = results[position];
      if (closed !== undefined) this.closed.set(job, closed);
    }
  }

  private closingOf(job: SettleableJob, pricings: ReadonlyMap<string, Pricing | null>): ReservationClosing {
    const { requestId, accountId, attempt, modality, modelId, usage } = job;
    const pricing = pricings.get(requestId);
    // Jobs without a reservation, admitted before there was billing, are released too.
    if (usage === null || pricing === undefined) return { requestId, accountId, attempt, lines: null };
    return { requestId, accountId, attempt, lines: this.meter({ modality, modelId, usage, pricing }) };
  }
}

/** Charges successful jobs, and those that ended early through no failure of ours, as the error table says. */
function paysForDelivery(errorCode: ErrorCode | null): boolean {
  return errorCode === null || errorEntry(errorCode).ledger === 'settle-delivered';
}

/** The usage of a job. */
interface MeteredJob {
  modality: string;
  modelId: string;
  usage: JobUsage;
  /** The price at the admission of the job; null: free. */
  pricing: Pricing | null;
}

/** Pass it alone as `cursor` for the next page, within 24 h. */
type Meter = (job: MeteredJob) => ChargeLine[];
