import { PlatformError } from '#common';
import type { JobsRepository } from '../lifecycle/jobs.repository.js';
import type { PayloadCipher } from './payload-cipher.js';
import type { StoredRequest } from './stored-request.js';

/**
 * Work on an admitted job before the queue gets it, such as a search of the web. The reservation is made before, so it
 * covers what the work may cost.
 */
export interface JobPreparation {
  /** Maximum time it takes, in ms. */
  maxMs: number;
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal;
  /** Returns the payload to run. A rejection closes the job, and nothing is charged. */
  complete(): Promise<object>;
}

/** Time to write what was prepared, in ms. */
const writeWithinMs = 15_000;

/**
 * How long the row of a job that is being prepared stays open, in ms. No sweep enqueues it, and after this time the
 * sweep for overdue jobs closes it: then the process that prepared it is gone.
 */
export function preparationDeadlineMs({ maxMs }: JobPreparation): number {
  return maxMs + writeWithinMs;
}

/** A prepared job, ready for the queue. */
export interface PreparedJob {
  payload: object;
  deadlineAtMs: number;
}

/**
 * Stores the payload of a prepared job and starts its deadline. Rejects with `SERVICE_UNAVAILABLE` if the row was closed
 * in the meantime.
 */
export async function storePrepared(
  { requestId, deadlineMs, ...stored }: StoredRequest & { requestId: string; deadlineMs: number },
  { jobs, cipher }: { jobs: Pick<JobsRepository, 'completePreparation'>; cipher: PayloadCipher },
): Promise<PreparedJob> {
  const ciphertext = cipher.encrypt(requestId, stored);
  const deadlineAtMs = await jobs.completePreparation({ requestId, ciphertext, deadlineMs });
  if (deadlineAtMs === null) {
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The request took too long to prepare.');
  }
  return { payload: stored.payload, deadlineAtMs };
}
