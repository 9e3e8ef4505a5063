import type { Logger } from '#platform/logging';
import { groupsOf } from './group-rows.js';

/** Lost rows that are repaired concurrently; those that are closed share a transaction. */
const atOnce = 20;

/** Maximum number of rows repaired in one run: the next run follows soon, and other sweeps wait for this one. */
const maxPerRun = 2_000;

export interface RepairOptions<Row> {
  repair: (row: Row) => Promise<boolean>;
  logger: Pick<Logger, 'warn'>;
}

/**
 * Repairs rows, a few at a time; resolves to how many `repair` returned true for. A failure does not stop the others:
 * it is logged and retried in the next run. Rejects when every repair failed.
 */
export async function repairAll<Row>(rows: readonly Row[], { repair, logger }: RepairOptions<Row>): Promise<number> {
  const now = rows.slice(0, maxPerRun);
  const failures: unknown[] = [];
  let count = 0;
  for (const some of groupsOf(now, atOnce)) {
    for (const result of await Promise.allSettled(some.map(repair))) {
      if (result.status === 'rejected') failures.push(result.reason);
      else if (result.value) count += 1;
    }
    // All of them failed: whatever they need is unavailable.
    if (failures.length >= atOnce && count === 0) break;
  }
  if (failures.length === 0) return count;
  if (count === 0) throw failures[0];
  const fields = { rows: failures.length, error: failures[0] };
  logger.warn(fields, 'some lost rows could not be repaired, they will be tried again');
  return count;
}
