import { type Clock, systemClock } from '#common';
import type { FoundJob } from '../lifecycle/jobs.repository.js';

/** Rows of a page, and pages of one look. */
export const rowsOfPage = 500;
export const maxPages = 20;

/** Pause between two deep looks while nothing looks lost, in ms. */
const deepEveryMs = 30_000;

/** Reads the page behind a row, or the first one. */
export type ReadPage = (rows: number, after: FoundJob | null) => Promise<FoundJob[]>;

export interface PageOptions {
  /** Default: as many as a look may read. */
  pages?: number;
  rows?: number;
}

/** Page after page, until one is short or there were enough. Rows are held as long as the look keeps them. */
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
 * How far a look reads whose every row costs a question to the queue. Rows that wait for long, as behind a full queue, must not
 * hide the younger ones that are lost; but ten thousand questions every three seconds would be a load of their own. So the
 * first page is read always, and all of them twice a minute and for as long as something looks lost.
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
