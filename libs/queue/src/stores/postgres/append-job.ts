import type { AppendedJob } from '../../contract/store.js';
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
