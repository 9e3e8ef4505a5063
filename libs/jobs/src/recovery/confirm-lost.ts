import type { OpenJob } from '../lifecycle/jobs.repository.js';
import type { SuspectTracker } from './suspect-tracker.js';

export interface ConfirmLostOptions {
  /** See `ResultBacklog.flows`. */
  resultBacklog: () => Promise<boolean>;
  /** What earlier checks saw: dropped when this one fails, or results are waiting. */
  suspects: readonly SuspectTracker[];
  /**
   * Checks for waiting results even when nothing appears lost. One sweep does, so that their age is known when it
   * matters.
   */
  asksAlways?: boolean;
}

/**
 * Returns the rows that appear lost now, according to `look`; none while results are waiting, since one of them may
 * belong to the row. Results are checked last: a result is reported before its job leaves the queue.
 */
export async function confirmLost(look: () => Promise<OpenJob[]>, options: ConfirmLostOptions): Promise<OpenJob[]> {
  const { resultBacklog, suspects, asksAlways = false } = options;
  let isSure = false;
  try {
    const found = await look();
    isSure = found.length === 0 && !asksAlways ? true : await resultBacklog();
    return isSure ? found : [];
  } finally {
    if (!isSure) for (const suspect of suspects) suspect.forget();
  }
}
