import { BudgetSpent, PlatformError } from '#common';
import { Injectable } from '#platform/injection';
import type { AdmittedJob } from '../lifecycle/job-states.js';
import { type AbandonedAdmission, AbandonedAdmissions } from './abandoned-admissions.js';
import { serviceUnavailable } from './service-unavailable.js';

/** An insert that a client waits for. */
export interface PendingInsert {
  /** Closed if the row exists although the client was told that it does not. */
  job: AbandonedAdmission;
  /** Settles when the transaction has ended. */
  written: Promise<AdmittedJob>;
  /** The same, but rejects earlier, with `BudgetSpent`, when the client should not wait any longer. */
  writtenInTime: Promise<AdmittedJob>;
  /** Called when it is certain that no row was or will be written, possibly after the rejection. */
  onNotWritten: () => void;
}

/**
 * Decides what a failed insert means. The database may have committed a transaction although its connection was lost
 * before the acknowledgment. The client is then told that its job was not admitted, and the row, if there is one, is
 * closed in the background.
 *
 * A request is in one of three states: written, not written, or ambiguous. It becomes ambiguous with an error that the
 * database did not report itself, and it stays so through a refused retry, which says nothing about the attempt before.
 */
@Injectable()
export class AmbiguousCommits {
  private readonly requestIds = new Set<string>();

  constructor(private readonly abandonedAdmissions: AbandonedAdmissions) {}

  /** Records the requests of a failed transaction, unless the database says that it was rolled back. */
  record(error: unknown, requestIds: readonly string[]): void {
    if (isRolledBack(error)) return;
    for (const requestId of requestIds) this.requestIds.add(requestId);
  }

  /** Rejects with the refusal of an admission step, with `BudgetSpent`, or with `SERVICE_UNAVAILABLE`. */
  async awaitInsert(insert: PendingInsert): Promise<AdmittedJob> {
    const { requestId } = insert.job;
    try {
      const job = await insert.writtenInTime;
      this.requestIds.delete(requestId);
      return job;
    } catch (error) {
      if (isRefusal(error) && !this.requestIds.has(requestId)) {
        insert.onNotWritten();
        throw error;
      }
      // The client need not wait for a database that is unavailable.
      void this.abandonIfWritten(insert);
      throw error instanceof BudgetSpent ? error : serviceUnavailable(error);
    }
  }

  private async abandonIfWritten({ job, written, onNotWritten }: PendingInsert): Promise<void> {
    const isWritten = await written.then(
      () => true,
      () => false,
    );
    const isUncertain = this.requestIds.delete(job.requestId) && !isWritten;
    if (isWritten || isUncertain) this.abandonedAdmissions.closeLater({ ...job, isUncertain });
    else onNotWritten();
  }
}

/** An error that the database itself reports left nothing behind. After any other, such as a lost connection, a row may exist. */
function isRolledBack(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(08|57)/.test(code);
}

/** The request may be repeated under the same id after a deliberate refusal. */
function isRefusal(error: unknown): boolean {
  return error instanceof PlatformError && !(error instanceof BudgetSpent);
}
