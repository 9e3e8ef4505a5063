import { PlatformError } from '#common';
import { toInstance } from '#platform/validation';
import type { JobEnvelope, PayloadClass } from '../contract/job-definition.js';

/**
 * Returns the payload as an instance of its class. The worker checks again what the api checked, because during a
 * rolling deployment the producer may be last week's. Unknown members are dropped: payloads only grow.
 */
export function validatePayload<Payload extends object>(type: PayloadClass<Payload>, payload: unknown): Payload {
  try {
    return toInstance(type, payload);
  } catch (error) {
    throw invalid(error instanceof PlatformError && error.param !== null ? error.param : 'payload');
  }
}

/** Rejects anything but an envelope. Its fields decide about deadlines and money, so none is guessed. */
export function validateEnvelope(envelope: Partial<JobEnvelope>): void {
  const { requestId, modality, modelId, attempt, deadlineAtMs, replyTo } = envelope;
  const texts = [requestId, modality, modelId].every((text) => typeof text === 'string' && text !== '');
  const numbers = Number.isSafeInteger(attempt) && Number.isFinite(deadlineAtMs);
  if (!texts || !numbers || (replyTo !== null && typeof replyTo !== 'string')) throw invalid('envelope');
}

function invalid(param: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', `The job's ${param} is not what this version expects.`, param);
}
