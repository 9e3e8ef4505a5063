import type { Platform } from '#test/platform';
import type { JobLedger } from './job-ledger.js';

/** One kind of work for the tests that kill workers. A slice joins `faultSlices` with one line. */
export interface FaultSlice {
  name: string;
  /** How long a worker owns such a job without renewing. */
  lockMs: number;
  /**
   * Sends one request that works for about `durationMs` and resolves when the caller holds the whole result, which it
   * checks. `text` makes each request another. `costNano` says what it must have cost.
   */
  run(
    platform: Platform,
    options: { durationMs: number; text: string },
  ): Promise<{ requestId: string; costNano: (ledgerState: JobLedger) => bigint }>;
}
