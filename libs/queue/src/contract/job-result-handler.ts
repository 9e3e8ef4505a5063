import type { JobResult } from './transport.js';

/** Handles job results where `JobResultsModule` consumes them; `#jobs` implements it. */
export abstract class JobResultHandler {
  /** Processes one result. A rejection is retried with back-off, without limit. */
  abstract process(result: JobResult): Promise<void>;
}
