import type { Logger } from '#platform/logging';
import { findExcess, JobResultHandler, type JobResult } from '#queue';
import type { ResultTickets, TicketFault } from '../tickets/result-tickets.js';
import { malformationOf } from '../tickets/well-formed-result.js';
import { describeRefused, isName } from '../tickets/refused-result.js';
import type { JobCloser } from './job-closer.js';
import type { ClosedJob, ClosedState, JobClosing } from './job-states.js';

/** Why a result was refused. */
export const resultRefusals = ['malformed', 'unsigned', 'unknown-key', 'forged', 'usage'] as const;
export type ResultRefusal = (typeof resultRefusals)[number];

const ticketCauses: Record<TicketFault, string> = {
  unsigned: 'no ticket',
  'unknown-key': 'the ticket was made with another secret key',
  forged: 'the signature is not that of this attempt',
};

/** Interval between two lines about refused results, in ms. */
const logEveryMs = 1_000;

export interface JobResultProcessorOptions {
  closer: JobCloser;
  tickets: ResultTickets;
  logger: Logger;
  /** Called after a row was closed, and only for the closing that counted. */
  onClosed?: (job: ClosedJob) => void;
  /** Called for every result that was refused. */
  onRefused?: (reason: ResultRefusal) => void;
}

/**
 * Closes rows with the results that workers report. Results arrive at least once and in any order. The attempt number
 * rejects those of abandoned deliveries, and compare-and-set makes the rest idempotent. A result without the ticket of
 * its job changes nothing; one with more usage than the job allows fails the job, free of charge.
 */
export class JobResultProcessor extends JobResultHandler {
  private loggedAtMs = -Infinity;

  constructor(private readonly options: JobResultProcessorOptions) {
    super();
  }

  /** Rejects when the database does not accept it; the queue then delivers it again. */
  async process(result: JobResult): Promise<void> {
    const malformation = malformationOf(result);
    if (malformation !== null) return this.refuse('malformed', result, malformation);
    const fault = this.faultOf(result);
    if (fault !== null) return this.refuse(fault.reason, result, fault.cause);
    const { closer, logger, onClosed } = this.options;
    const { requestId, attempt, status } = result;
    try {
      const job = await closer.close(toClosing(this.withinBounds(result)));
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

  private faultOf(result: JobResult): { reason: ResultRefusal; cause: string } | null {
    try {
      const reason = this.options.tickets.faultOf(result);
      return reason === null ? null : { reason, cause: ticketCauses[reason] };
    } catch {
      return { reason: 'malformed', cause: 'proof is invalid' };
    }
  }

  /** Its holder has the ticket, so the job ends with it; the caller pays nothing for what cannot be true. */
  private withinBounds(result: JobResult): JobResult {
    const { usage, proof } = result;
    const field = usage === null || proof === undefined ? null : findExcess(usage, proof.bounds);
    if (field === null) return result;
    this.refuse('usage', result, `${isName(field) ? field : 'a unit'} exceeds its bound`);
    const error = {
      code: 'INFERENCE_FAILED',
      message: 'The worker reported more usage than the request allows.',
    } as const;
    return { ...result, status: 'failed', error, usage: null, artifacts: undefined };
  }

  /** A flood of refused results gets one line a second: the metric counts them all. */
  private refuse(reason: ResultRefusal, result: unknown, cause: string): void {
    const { logger, onRefused } = this.options;
    onRefused?.(reason);
    const nowMs = performance.now();
    if (nowMs - this.loggedAtMs < logEveryMs) return;
    this.loggedAtMs = nowMs;
    logger.error({ reason, cause, ...describeRefused(result) }, 'a job result was refused');
  }
}

function toClosing(result: JobResult): JobClosing {
  const { requestId, attempt, usage, executionMs } = result;
  const errorCode = result.error?.code ?? null;
  const base = { requestId, attempt, usage, executionMs: Math.max(0, Math.round(executionMs)), ...shownOf(result) };
  const { artifacts } = result;
  if (result.status === 'succeeded') return { ...base, state: stateOf(result), errorCode: null, artifacts };
  return { ...base, state: stateOf(result), errorCode, errorMessage: result.error?.message ?? null };
}

/** The members that are only shown. One that no worker writes is left out, and the result counts without it. */
function shownOf({ reportedBy, firstTokenMs, executionMs }: JobResult): Pick<JobClosing, 'worker' | 'firstTokenMs'> {
  const isMeasured = Number.isInteger(firstTokenMs) && Number(firstTokenMs) >= 0 && Number(firstTokenMs) <= executionMs;
  return { ...(isName(reportedBy) && { worker: reportedBy }), ...(isMeasured && { firstTokenMs }) };
}

/** A job that the consumer dropped because its deadline had passed has expired; nothing in it failed. */
function stateOf(result: JobResult): ClosedState {
  if (result.status === 'failed' && result.error?.code === 'REQUEST_TIMEOUT') return 'expired';
  return result.status;
}
