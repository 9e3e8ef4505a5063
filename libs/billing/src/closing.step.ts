import { type ErrorCode, errorEntry, type JobUsage } from '#common';
import type { Prisma } from '#platform/prisma';
import type { Meter } from './charge-line.js';
import { LedgerRepository } from './ledger.repository.js';

/** What the step must know of a closed job. */
export interface SettleableJob {
  requestId: string;
  attempt: number;
  modality: string;
  modelId: string;
  errorCode: ErrorCode | null;
  usage: JobUsage | null;
}

/**
 * Settles or releases in the transaction that closes the job: what was delivered is paid at the price of its
 * admission, our failures cost nothing, and what was reserved beyond comes back. A closing step of `#jobs`.
 */
export class SettlementStep {
  constructor(private readonly meter: Meter) {}

  async close(transaction: Prisma.TransactionClient, job: SettleableJob): Promise<void> {
    const ledger = new LedgerRepository(transaction);
    const { requestId, attempt, usage } = job;
    if (usage === null || !paysForDelivery(job.errorCode)) return void (await ledger.release(requestId, attempt));
    const hold = await ledger.findHold(requestId);
    // Admitted before there was money, and gone with the deadline of such jobs.
    if (hold === null) return;
    const { modality, modelId } = job;
    const lines = this.meter({ modality, modelId, usage, pricing: hold.pricing });
    await ledger.settle(requestId, attempt, lines);
  }
}

/** Answers that ended well, and those that ended early through no failure of ours; the error table says which. */
function paysForDelivery(errorCode: ErrorCode | null): boolean {
  return errorCode === null || errorEntry(errorCode).ledger === 'settle-delivered';
}
