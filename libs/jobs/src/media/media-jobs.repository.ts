import { isErrorCode, isUuid } from '#common';
import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import type { ClosedJob, JobState, JobTransaction } from '../lifecycle/job-states.js';
import type { MediaDelivery, MediaJob, NewMediaJob } from './media-job.js';

interface MediaJobRow {
  request_id: string;
  queue_id: string;
  state: JobState;
  delivery: MediaDelivery;
  result_artifacts: string[];
  progress_percent: number;
  error_code: string | null;
  error_message: string | null;
  running_ms: number;
  ended_for_ms: number | null;
  is_deleted: boolean;
}

export interface MediaJobKey {
  queueId: string;
  accountId: string;
  modelId: string;
}

/** The progress of a job, to be written. */
export interface ProgressNote {
  requestId: string;
  /** Reports for jobs of another model have no effect. */
  modelId: string;
  attempt: number;
  percent: number;
}

/** How many successful runs of a model its typical duration is computed from. */
const recentRuns = 200;

/** Reads and writes the rows of async jobs. Every time is that of the database. */
@Injectable()
export class MediaJobsRepository {
  // SQL: these rows change in the transactions of admission and closing, and the database computes their times.
  constructor(private readonly prisma: PrismaService) {}

  /** Runs in the transaction that admits the job. */
  static async insert(
    transaction: JobTransaction,
    job: { requestId: string; modelId: string },
    { queueId, delivery, inputArtifacts }: NewMediaJob,
  ): Promise<void> {
    await transaction.$executeRaw`
      INSERT INTO media_jobs (request_id, queue_id, model_id, delivery, input_artifacts)
      VALUES (${job.requestId}, ${queueId}::uuid, ${job.modelId}, ${delivery}::media_delivery, ${[...inputArtifacts]})`;
  }

  /** Runs in the transaction that closes the job; has no effect on a job without such a row. */
  async close(transaction: JobTransaction, job: ClosedJob): Promise<void> {
    const succeeded = job.state === 'succeeded';
    await transaction.$executeRaw`
      UPDATE media_jobs
         SET closed_at = now(), result_artifacts = ${[...(job.artifacts ?? [])]},
             error_message = ${succeeded ? null : (job.errorMessage ?? null)},
             succeeded_in_ms = ${succeeded ? job.executionMs : null}::int,
             progress_percent = CASE WHEN ${succeeded} THEN 100 ELSE progress_percent END
       WHERE request_id = ${job.requestId}`;
  }

  /** Returns the job of a caller; null for one that is unknown, of another account or of another model. */
  async find({ queueId, accountId, modelId }: MediaJobKey): Promise<MediaJob | null> {
    // Any other text is not an id of Sluice, and would be a database error.
    if (!isUuid(queueId)) return null;
    const rows = await this.prisma.$queryRaw<MediaJobRow[]>`
      SELECT m.request_id, m.queue_id::text, j.state::text AS state, m.delivery::text AS delivery, m.result_artifacts,
             m.progress_percent::int, j.error_code, m.error_message, m.deleted_at IS NOT NULL AS is_deleted,
             COALESCE(extract(epoch FROM COALESCE(j.finished_at, now()) - j.started_at) * 1000, 0)::float8
               AS running_ms,
             (extract(epoch FROM now() - j.finished_at) * 1000)::float8 AS ended_for_ms
        FROM media_jobs m JOIN jobs j USING (request_id)
       WHERE m.queue_id = ${queueId}::uuid AND j.account_id = ${accountId}::uuid AND j.model_id = ${modelId}`;
    const row = rows[0];
    return row === undefined ? null : toMediaJob(row);
  }

  /** Returns true for the one call that deleted it. */
  async markDeleted(requestId: string): Promise<boolean> {
    const count = await this.prisma.$executeRaw`
      UPDATE media_jobs SET deleted_at = now() WHERE request_id = ${requestId} AND deleted_at IS NULL`;
    return count === 1;
  }

  async inputsOf(requestId: string): Promise<string[]> {
    const row = await this.prisma.mediaJob.findUnique({ where: { requestId }, select: { inputArtifacts: true } });
    return row?.inputArtifacts ?? [];
  }

  /** Returns the 80th percentile of the durations of the last successful runs, in ms; null before the first. */
  async expectedDurationMs(modelId: string): Promise<number | null> {
    const rows = await this.prisma.$queryRaw<{ ms: number | null }[]>`
      SELECT percentile_disc(0.8) WITHIN GROUP (ORDER BY succeeded_in_ms) AS ms
        FROM (SELECT succeeded_in_ms FROM media_jobs
               WHERE model_id = ${modelId} AND closed_at IS NOT NULL AND succeeded_in_ms IS NOT NULL
               ORDER BY closed_at DESC LIMIT ${recentRuns}::int) AS recent`;
    return rows[0]?.ms ?? null;
  }

  /**
   * Marks the jobs as running and raises their progress, never lowers it; reports of older attempts have no effect.
   * Jobs are locked before their dependent rows, in the order that closing uses; locked rows are skipped.
   */
  async noteProgress(notes: readonly ProgressNote[]): Promise<void> {
    await this.prisma.$executeRaw`
      WITH told AS (
        SELECT * FROM unnest(${notes.map(({ requestId }) => requestId)}::text[],
                             ${notes.map(({ modelId }) => modelId)}::text[],
                             ${notes.map(({ attempt }) => attempt)}::int[],
                             ${notes.map(({ percent }) => percent)}::int[]) AS t(request_id, model_id, attempt, percent)
      ), held AS (
        SELECT j.request_id, j.state, t.percent FROM jobs j JOIN told t USING (request_id)
         WHERE j.model_id = t.model_id AND j.attempt = t.attempt AND j.state IN ('queued', 'running')
         ORDER BY j.request_id FOR NO KEY UPDATE OF j SKIP LOCKED
      ), started AS (
        UPDATE jobs j SET state = 'running', started_at = now() FROM held h
         WHERE j.request_id = h.request_id AND h.state = 'queued'
      )
      UPDATE media_jobs m SET progress_percent = h.percent FROM held h
       WHERE m.request_id = h.request_id AND m.closed_at IS NULL AND m.progress_percent < h.percent`;
  }
}

function toMediaJob(row: MediaJobRow): MediaJob {
  return {
    requestId: row.request_id,
    queueId: row.queue_id,
    state: row.state,
    delivery: row.delivery,
    resultArtifacts: row.result_artifacts,
    progressPercent: row.progress_percent,
    error: isErrorCode(row.error_code) ? { code: row.error_code, message: row.error_message } : null,
    runningMs: Math.max(0, Math.round(row.running_ms)),
    endedForMs: row.ended_for_ms === null ? null : Math.round(row.ended_for_ms),
    isDeleted: row.is_deleted,
  };
}
