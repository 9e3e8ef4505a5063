import type { Clock, PlatformError } from '#common';
import type { JobEnvelope } from '../contract/job-definition.js';
import { cancelledByCaller, deadlinePassed, workerLost } from './job-delivery.js';
import { validateEnvelope } from './payload-validator.js';

/** What the queue says about a job that it gives to a worker. */
export interface TakenJob {
  /** True when the job was taken from silent workers more often than its policy allows. */
  isGivenUp: boolean;
  /** How often it was taken from a silent worker. */
  stalledBefore: number;
}

/** What the worker knows about other processes. */
export interface WorkerLastKnownState {
  wasCancelled(requestId: string): boolean;
  /** Returns true when the reader was there and is gone. */
  isGone(replyAddress: string): boolean;
  /** Returns true when the reader is known and not gone. */
  isHere(replyAddress: string): boolean;
}

/** Returns why a delivered job is not run; null when it is. Throws `INVALID_REQUEST` for anything but an envelope. */
export function refusalOf(
  envelope: JobEnvelope,
  { isGivenUp, stalledBefore }: TakenJob,
  { lastKnownState, clock }: { lastKnownState: WorkerLastKnownState; clock: Clock },
): PlatformError | null {
  if (isGivenUp) return workerLost();
  validateEnvelope(envelope);
  const { requestId, attempt, replyTo, stream, deadlineAtMs } = envelope;
  if (clock.nowMs() >= deadlineAtMs) return deadlinePassed();
  if (envelope.cancelled === true || lastKnownState.wasCancelled(requestId)) return cancelledByCaller();
  if (replyTo === null) return null;
  if (lastKnownState.isGone(replyTo)) return cancelledByCaller();
  // The reader holds a part of the response that the lost worker made.
  if (stalledBefore > 0 && stream !== false) return workerLost();
  // A retried job comes late: a worker that has just started does not know which processes died before.
  if ((stalledBefore > 0 || attempt > 1) && !lastKnownState.isHere(replyTo)) return cancelledByCaller();
  return null;
}
