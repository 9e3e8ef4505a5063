import type { HeldKey } from './idempotency.repository.js';

/**
 * What a repeated request gets.
 *   run      nothing that counts has run: this request may
 *   wait     the first one is under way
 *   replay   the answer that is kept
 *   remake   the answer that follows from the job
 *   lost     the first one ran and was paid for, and its answer is gone
 */
export type KeyDecision = 'run' | 'wait' | 'replay' | 'remake' | 'lost';

/**
 * Decides by what is kept, and where the replica died before it could keep anything, by the row of the job: what has
 * cost something is never run again, what has cost nothing is. `wasCharged` is asked about closed jobs alone.
 */
export async function safetyClassifierKey(held: HeldKey, wasCharged: () => Promise<boolean>): Promise<KeyDecision> {
  const { state, job, answer } = held;
  if (held.isExpired) return 'run';
  const kept = answer === null ? 'lost' : 'replay';
  if (state === 'answered') return kept;
  if (held.isHeld) return 'wait';
  if (job === null) return 'run';
  // Its answer only said that the job had begun, which is as true as before.
  if (job.isAsync) return 'remake';
  if (job.state === 'queued' || job.state === 'running') return 'wait';
  if (job.state !== 'succeeded' && !(await wasCharged())) return 'run';
  return kept;
}
