import type { Platform } from '#test/platform';
import type { JobLedger } from './job-ledger.js';

/** One kind of work for the tests that kill workers. A slice registers with one line in `faultSlices`. */
export interface FaultSlice {
  name: string;
  /** Lock time of such a job without renewal. */
  lockMs: number;
  /**
   * Sends one request that runs for about `durationMs`; resolves when the client has the complete result, which it
   * checks. `text` varies the request. `costNano` is the expected charge.
   */
  run(
    platform: Platform,
    options: { durationMs: number; text: string },
  ): Promise<{ requestId: string; costNano: (ledgerState: JobLedger) => bigint }>;
}
