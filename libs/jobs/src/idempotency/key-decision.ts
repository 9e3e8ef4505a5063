import type { HeldKey } from './idempotency.repository.js';

/**
 * What a repeated request gets.
 *
 * - run: nothing that counts has run; this request may
 * - wait: the first request is in progress
 * - replay: the stored response
 * - remake: the response that follows from the job
 * - lost: the first request ran and was charged, and its response is gone
 */
export type KeyDecision = 'run' | 'wait' | 'replay' | 'remake' | 'lost';

/**
 * Decides by what is stored. When the replica died before it could store anything, the row of the job decides: what was
 * charged is never run again, what cost nothing is. `wasCharged` is called for closed jobs only.
 */
export async function decideAboutKey(held: HeldKey, wasCharged: () => Promise<boolean>): Promise<KeyDecision> {
  const { state, job, answer } = held;
  if (held.isExpired) return 'run';
  const kept = answer === null ? 'lost' : 'replay';
  if (state === 'answered') return kept;
  if (held.isHeld) return 'wait';
  if (job === null) return 'run';
  // Its response only said that the job was queued, which is still true.
  if (job.isAsync) return 'remake';
  if (job.state === 'queued' || job.state === 'running') return 'wait';
  if (job.state !== 'succeeded' && !(await wasCharged())) return 'run';
  return kept;
}
