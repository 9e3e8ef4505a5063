import type { Logger } from '#platform/logging';
import { JobResultHandler, type JobResult } from '#queue';
import type { JobCloser } from './job-closer.js';
import type { ClosedJob, ClosedState, JobClosing } from './job-states.js';

export interface JobResultProcessorOptions {
  closer: JobCloser;
  logger: Logger;
  /** Called after a row was closed, and only for the closing that counted. */
  onClosed?: (job: ClosedJob) => void;
}

/**
 * Closes rows with the results that workers report. Results arrive at least once and in any order. The attempt number
 * rejects those of abandoned deliveries, and compare-and-set makes the rest idempotent.
 */
export class JobResultProcessor extends JobResultHandler {
  constructor(private readonly options: JobResultProcessorOptions) {
    super();
  }

  /** Rejects when the database does not accept it; the queue then delivers it again. */
  async process(result: JobResult): Promise<void> {
    const { closer, logger, onClosed } = this.options;
    const { requestId, attempt, status } = result;
    try {
      const job = await closer.close(toClosing(result));
      if (job) {
        onClosed?.(job);
        const { modality, modelId, state, errorCode, executionMs } = job;
        logger.debug({ requestId, attempt, modality, model: modelId, state, errorCode, executionMs }, 'job closed');
      } else logger.info({ requestId, attempt, status }, 'a job result came twice, late, or for an abandoned attempt');
    } catch (error) {
      logger.warn({ requestId, attempt, error }, 'a job result could not be written, it will be delivered again');
      throw error;
    }
  }
}

function toClosing(result: JobResult): JobClosing {
  const { requestId, attempt, usage, executionMs } = result;
  const errorCode = result.error?.code ?? null;
  const base = { requestId, attempt, usage, executionMs: Math.max(0, Math.round(executionMs)) };
  const { artifacts } = result;
  if (result.status === 'succeeded') return { ...base, state: stateOf(result), errorCode: null, artifacts };
  return { ...base, state: stateOf(result), errorCode, errorMessage: result.error?.message ?? null };
}

/** A job that the consumer dropped because its deadline had passed has expired; nothing in it failed. */
function stateOf(result: JobResult): ClosedState {
  if (result.status === 'failed' && result.error?.code === 'REQUEST_TIMEOUT') return 'expired';
  return result.status;
}
