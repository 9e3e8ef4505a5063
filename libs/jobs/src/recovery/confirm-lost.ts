import type { OpenJob } from '../lifecycle/jobs.repository.js';
import type { SuspectTracker } from './suspect-tracker.js';

export interface ConfirmLostOptions {
  /** As `ResultBacklog.flows`. */
  resultBacklog: () => Promise<boolean>;
  /** What earlier looks saw: forgotten when this one fails, or outcomes wait. */
  suspects: readonly SuspectTracker[];
  /** Asks for outcomes though nothing looks lost. One sweep does: the age of those that wait is known when it matters. */
  asksAlways?: boolean;
}

/**
 * The rows that look lost now, by `look`; none while outcomes wait, since one of them may be the row's own. They are asked for
 * last: an outcome is reported before its job leaves the queue.
 */
export async function confirmLost(look: () => Promise<OpenJob[]>, options: ConfirmLostOptions): Promise<OpenJob[]> {
  const { resultBacklog, suspects, asksAlways = false } = options;
  let isSure = false;
  try {
    const found = await look();
    isSure = found.length === 0 && !asksAlways ? true : await resultBacklog();
    return isSure ? found : [];
  } finally {
    if (!isSure) for (const each of suspects) each.forget();
  }
}
