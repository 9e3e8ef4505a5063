import type { SharedPostgresConnection } from '../../connections/postgres-connection.js';

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
