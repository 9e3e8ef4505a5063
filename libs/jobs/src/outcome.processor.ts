import type { Logger } from '#platform/logging';
import type { Outcome, QueueTransport } from '#queue';
import type { JobCloser } from './job-closer.js';
import type { ClosedJob, ClosedState, JobClosing } from './job-states.js';

export interface OutcomeProcessorOptions {
  transport: QueueTransport;
  closer: JobCloser;
  logger: Logger;
  /** After a row was closed, and only for the closing that counted. */
  onClosed?: (job: ClosedJob) => void;
}

/**
 * Closes rows with the outcomes that workers report. Outcomes arrive at least once and in any order; the attempt number
 * fences off those of deliveries that were given up, and compare-and-set makes the rest idempotent.
 */
export class OutcomeProcessor {
  private running: { close(): Promise<void> } | undefined;

  constructor(private readonly options: OutcomeProcessorOptions) {}

  async start(): Promise<void> {
    this.running = await this.options.transport.outcomes.process((outcome) => this.process(outcome));
  }

  async close(): Promise<void> {
    await this.running?.close();
    this.running = undefined;
  }

  /** Rejects when the database does not take it; the queue then brings it again. */
  async process(outcome: Outcome): Promise<void> {
    const { closer, logger, onClosed } = this.options;
    const { requestId, attempt, status } = outcome;
    try {
      const job = await closer.close(toClosing(outcome));
      if (job) {
        onClosed?.(job);
        const { modality, modelId, state, errorCode, executionMs } = job;
        logger.debug({ requestId, attempt, modality, model: modelId, state, errorCode, executionMs }, 'job closed');
      } else logger.info({ requestId, attempt, status }, 'an outcome came twice, late, or for an attempt given up');
    } catch (error) {
      logger.warn({ requestId, attempt, error }, 'an outcome could not be written, it will come again');
      throw error;
    }
  }
}

function toClosing(outcome: Outcome): JobClosing {
  const { requestId, attempt, usage, executionMs } = outcome;
  const errorCode = outcome.error?.code ?? null;
  const base = { requestId, attempt, usage, executionMs: Math.max(0, Math.round(executionMs)) };
  const { artifacts } = outcome;
  if (outcome.status === 'succeeded') return { ...base, state: stateOf(outcome), errorCode: null, artifacts };
  return { ...base, state: stateOf(outcome), errorCode, errorMessage: outcome.error?.message ?? null };
}

/** A job that the consumer dropped because its deadline had passed has expired; nothing in it failed. */
function stateOf(outcome: Outcome): ClosedState {
  if (outcome.status === 'failed' && outcome.error?.code === 'REQUEST_TIMEOUT') return 'expired';
  return outcome.status;
}
