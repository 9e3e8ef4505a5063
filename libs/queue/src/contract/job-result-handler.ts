import type { JobResult } from './transport.js';

/** Handles job results where `JobResultsModule` consumes them; `#jobs` implements it. */
export abstract class JobResultHandler {
  /** A rejection is retried with back-off, without end. */
  abstract process(result: JobResult): Promise<void>;
}
