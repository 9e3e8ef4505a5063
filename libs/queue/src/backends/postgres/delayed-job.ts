import type { JobClaim } from '../store.js';
import type { SharedPostgresConnection } from './shared-connection.js';

/**
 * What BullMQ 6.7.0 does when it gives a job to a worker (`move_to_active`), for one job that is named and still delayed.
 * BullMQ has no command for it. The conformance suite fails should another version keep its jobs in another way.
 */
const claimStatement = `
UPDATE job
   SET state = 'active', delay_ms = 0, lock_token = $3, locked_until_ms = $4::bigint + $5::bigint,
       processed_at_ms = $4, attempts_started = attempts_started + 1
 WHERE queue = $1 AND id = $2 AND (state = 'delayed' OR (state = 'active' AND lock_token = $3))
RETURNING id`;

/**
 * Not BullMQ's own `promote`: it looks at the state first and writes afterwards, so a job that a worker takes in between is
 * set to wait, and runs twice (6.7.0).
 */
const releaseStatement = `
WITH freed AS (
  UPDATE job SET state = 'waiting', process_at_ms = NULL, delay_ms = 0, seq = nextval('job_seq')
   WHERE queue = $1 AND id = $2 AND state = 'delayed'
  RETURNING queue
)
SELECT pg_notify('bullmq_jobs', queue) FROM freed`;

export async function claimDelayedJob(
  pool: SharedPostgresConnection['pool'],
  queue: string,
  { jobId, token, lockMs, nowMs }: JobClaim,
): Promise<boolean> {
  const { rows } = await pool.query(claimStatement, [queue, jobId, token, nowMs, lockMs]);
  return rows.length > 0;
}

export async function releaseDelayedJob(
  pool: SharedPostgresConnection['pool'],
  queue: string,
  jobId: string,
): Promise<boolean> {
  const { rows } = await pool.query(releaseStatement, [queue, jobId]);
  return rows.length > 0;
}
