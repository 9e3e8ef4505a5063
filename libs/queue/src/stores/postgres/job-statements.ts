import type { AppendedJob, JobClaim } from '../../contract/store.js';
import type { SharedPostgresConnection } from '../../connections/postgres-connection.js';

/**
 * BullMQ's `add_job` without the parts that read the queue: it looks for a job of the same id and records events. The
 * role of a pool may add job results, and read none (`trust/pools/postgres-pool-role.ts`).
 */
const appendStatement = `
WITH appended AS (
  INSERT INTO job (queue, id, seq, name, state, data, opts, max_attempts, added_at_ms)
  VALUES ($1, $2, nextval('job_seq'), $3, 'waiting', $4::jsonb, $5::jsonb, $6, $7)
)
SELECT pg_notify('bullmq_jobs', $1)`;

/** Adds a waiting job. Its id must be new. */
export async function appendJob(
  pool: SharedPostgresConnection['pool'],
  queue: string,
  { id, name, data, opts }: AppendedJob,
): Promise<void> {
  const values = [queue, id, name, JSON.stringify(data), JSON.stringify(opts), opts.attempts, Date.now()];
  await pool.query(appendStatement, values);
}

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

/**
 * Replaces BullMQ's `promote`, which reads the state first and writes without checking it again: a job that a worker takes in
 * between waits once more, and runs twice (6.7.0).
 */
const releaseStatement = `
WITH released AS (
  UPDATE job SET state = 'waiting', process_at_ms = NULL, delay_ms = 0, seq = nextval('job_seq')
   WHERE queue = $1 AND id = $2 AND state = 'delayed'
  RETURNING queue
)
SELECT CASE WHEN $3 THEN pg_notify('bullmq_jobs', queue) END FROM released`;

interface Release {
  jobId: string;
  /**
   * False when idle workers are not notified: they find the job when its delay would have ended, unless another worker
   * fetches it first.
   */
  isAnnounced: boolean;
}

/** Moves a delayed job to the waiting ones; false when it is no longer delayed. */
export async function releaseDelayedJob(
  pool: SharedPostgresConnection['pool'],
  queue: string,
  { jobId, isAnnounced }: Release,
): Promise<boolean> {
  const { rows } = await pool.query(releaseStatement, [queue, jobId, isAnnounced]);
  return rows.length > 0;
}
