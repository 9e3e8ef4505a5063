import type { ErrorCode } from '#common';
import type { Logger } from '#platform/logging';
import type { JobFailedEvent, QueueTransport } from '#queue';
import type { JobCloser } from '../lifecycle/job-closer.js';
import type { ClosedState } from '../lifecycle/job-states.js';
import type { OpenJob } from '../lifecycle/jobs.repository.js';

export interface CloseDeadOptions {
  closer: JobCloser;
  transport: QueueTransport;
  logger: Logger;
}

export interface Decision {
  state: ClosedState;
  code: ErrorCode;
  message: string;
}

/**
 * Closes a row for which no result will arrive. Then stops and removes what may be left of the job, and notifies any
 * waiting reader. Returns false when a result came first.
 */
export async function closeDead(job: OpenJob, decision: Decision, options: CloseDeadOptions): Promise<boolean> {
  const { closer, transport, logger } = options;
  const { requestId, attempt, modality, modelId, replyTo } = job;
  const { state, code, message } = decision;
  const errors = { errorCode: code, errorMessage: message };
  const closed = await closer.close({ requestId, attempt, state, ...errors, usage: null, executionMs: 0 });
  if (!closed) return false;
  logger.warn({ requestId, modelId, attempt, code }, 'a job was closed without a result');
  if (replyTo !== null) {
    const event: JobFailedEvent = { type: 'job-failed', error: { code, message } };
    transport.replies.writer(replyTo, { requestId, modelId }).send(event);
  }
  // The row is closed; what follows only saves work, and an unavailable queue must not stop the sweep.
  await Promise.allSettled([
    transport.producer.remove(modality, modelId, requestId),
    transport.cancelBus.cancel(requestId),
  ]);
  return true;
}
