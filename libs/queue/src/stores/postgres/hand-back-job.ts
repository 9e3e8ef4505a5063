import type { JobClaim } from '../../contract/store.js';
import type { SharedPostgresConnection } from '../../connections/postgres-connection.js';

/**
 * Replaces BullMQ's `move_active_to_wait`, which puts a job without a priority behind all others, and says nothing about a
 * lock that was lost (6.7.0). Jobs are taken by priority, then by `seq`.
 */
const handBackStatement = `
WITH returned AS (
  UPDATE job SET state = 'waiting', seq = -nextval('job_seq'), lock_token = NULL, locked_until_ms = NULL
   WHERE queue = $1 AND id = $2 AND state = 'active' AND lock_token = $3
  RETURNING queue
)
SELECT pg_notify('bullmq_jobs', queue) FROM returned`;

/** Moves a running job to the front of the waiting ones. Rejects when the lock is no longer held. */
export async function handBackJob(
  pool: SharedPostgresConnection['pool'],
  queue: string,
  { jobId, token }: JobClaim,
): Promise<void> {
  const { rows } = await pool.query(handBackStatement, [queue, jobId, token]);
  if (rows.length === 0) throw new Error('The lock of the job is not held any more.');
}
