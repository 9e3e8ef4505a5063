import { type Clock, systemClock } from '#common';
import type { FoundJob } from '../lifecycle/jobs.repository.js';

/** Rows per page, and pages per check. */
export const rowsOfPage = 500;
export const maxPages = 20;

/** Pause between two deep checks while nothing appears lost, in ms. */
const deepEveryMs = 30_000;

/** Reads the page after a row, or the first one. */
export type ReadPage = (rows: number, after: FoundJob | null) => Promise<FoundJob[]>;

export interface PageOptions {
  /** Default: the maximum of a check. */
  pages?: number;
  rows?: number;
}

/**
 * Yields page after page, until one is short or the maximum is reached. Rows stay in memory as long as the check keeps
 * them.
 */
export async function* pagesOf(
  read: ReadPage,
  { pages = maxPages, rows = rowsOfPage }: PageOptions,
): AsyncGenerator<FoundJob[]> {
  let last: FoundJob | null = null;
  for (let page = 0; page < pages; page += 1) {
    const found: FoundJob[] = await read(rows, last);
    if (found.length > 0) yield found;
    last = found.at(-1) ?? null;
    if (found.length < rows) return;
  }
}

/**
 * Decides how far a check reads when every row costs a call to the queue. Long-waiting rows, as behind a full queue,
 * must not hide younger lost ones, but ten thousand calls every three seconds would be a load of their own. So the
 * first page is always read, and all pages twice a minute and for as long as something appears lost.
 */
export class LookDepth {
  private deepAtMs = -Infinity;

  constructor(private readonly clock: Clock = systemClock) {}

  pages(somethingAppearsLost: boolean): number {
    const nowMs = this.clock.monotonicMs();
    if (!somethingAppearsLost && nowMs - this.deepAtMs < deepEveryMs) return 1;
    this.deepAtMs = nowMs;
    return maxPages;
  }
}
