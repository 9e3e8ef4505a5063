import type { OpenJob } from '../jobs.repository.js';
import type { Sightings } from './sightings.js';

export interface SureLookOptions {
  /** As `OutcomeFlow.flows`. */
  outcomesFlow: () => Promise<boolean>;
  /** What earlier looks saw: forgotten when this one fails, or outcomes wait. */
  sightings: readonly Sightings[];
  /** Asks for outcomes though nothing looks lost. One sweep does: the age of those that wait is known when it matters. */
  asksAlways?: boolean;
}

/**
 * The rows that look lost now, by `look`; none while outcomes wait, since one of them may be the row's own. They are asked for
 * last: an outcome is reported before its job leaves the queue.
 */
export async function sureLook(look: () => Promise<OpenJob[]>, options: SureLookOptions): Promise<OpenJob[]> {
  const { outcomesFlow, sightings, asksAlways = false } = options;
  let isSure = false;
  try {
    const found = await look();
    isSure = found.length === 0 && !asksAlways ? true : await outcomesFlow();
    return isSure ? found : [];
  } finally {
    if (!isSure) for (const each of sightings) each.forget();
  }
}
