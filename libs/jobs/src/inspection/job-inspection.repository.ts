import { isUuid, type NanoUsd } from '#common';
import { Injectable } from '#platform/injection';
import { alertRules } from '#platform/metrics';
import { Prisma, PrismaService } from '#platform/prisma';
import type { JobState } from '../lifecycle/job-states.js';

/** The rows that an operator wants to see. */
export interface JobFilter {
  states?: readonly JobState[];
  modelId?: string;
  accountId?: string;
  /** Rows that were admitted at least this long ago, in ms. */
  olderThanMs?: number;
  /** Open rows that are past their deadline, or were queued `stuckAfterMs` ago and have not started. */
  isStuck?: boolean;
  limit: number;
}

/** How long a job may wait before it counts as stuck, in ms. */
const stuckAfterMs = alertRules.SluiceJobsWaitLong.comparisons[0][1] * 1_000;

/** A row as `sluice jobs list` shows it. */
export interface ListedJob {
  requestId: string;
  accountId: string;
  modality: string;
  modelId: string;
  state: JobState;
  attempt: number;
  errorCode: string | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}

/** A processed result of an attempt; `isApplied` is false for one that came too late. */
export interface ProcessedResult {
  attempt: number;
  status: string;
  isApplied: boolean;
  processedAt: Date;
}

/** Everything that the database says about a job, except the request and its response. */
export interface InspectedJob extends ListedJob {
  apiKeyId: string;
  /** The last characters of the API key. */
  key: string | null;
  stream: boolean;
  /** True when an api replica waits for the job; none waits for an async job. */
  isAwaited: boolean;
  enqueuedAt: Date;
  deadlineAt: Date;
  promptTokens: number | null;
  cachedTokens: number | null;
  completionTokens: number | null;
  usageUnits: unknown;
  executionMs: number | null;
  /** Null when the job reserved nothing. */
  reservation: { state: string; reservedNano: NanoUsd; chargedNano: NanoUsd | null } | null;
  /** Null for jobs that are not async. */
  media: { queueId: string; progressPercent: number } | null;
  results: ProcessedResult[];
}

interface InspectedRow extends Omit<InspectedJob, 'reservation' | 'media' | 'results'> {
  holdState: string | null;
  reservedNano: bigint | null;
  chargedNano: bigint | null;
  queueId: string | null;
  progressPercent: number | null;
}

/** Reads job rows for operators. */
@Injectable()
export class JobInspectionRepository {
  // SQL: optional conditions, and rows of several tables in one consistent statement.
  constructor(private readonly prisma: PrismaService) {}

  /** Lists jobs, the newest first. */
  async list({ states, modelId, accountId, olderThanMs, isStuck, limit }: JobFilter): Promise<ListedJob[]> {
    const conditions = [
      ...(states === undefined ? [] : [Prisma.sql`state::text = ANY (${[...states]}::text[])`]),
      ...(modelId === undefined ? [] : [Prisma.sql`model_id = ${modelId}`]),
      ...(accountId === undefined ? [] : [Prisma.sql`account_id = ${accountId}::uuid`]),
      ...(olderThanMs === undefined
        ? []
        : [Prisma.sql`created_at <= now() - ${olderThanMs}::float8 * interval '1 ms'`]),
      // The condition on the state comes first, because the index over open rows is partial.
      ...(isStuck === true
        ? [
            Prisma.sql`state IN ('queued', 'running') AND (deadline_at < now()
              OR (state = 'queued' AND enqueued_at < now() - ${stuckAfterMs}::float8 * interval '1 ms'))`,
          ]
        : []),
    ];
    const where = conditions.length === 0 ? Prisma.empty : Prisma.sql`WHERE ${Prisma.join(conditions, ' AND ')}`;
    return this.prisma.$queryRaw<ListedJob[]>(Prisma.sql`
      SELECT request_id AS "requestId", account_id::text AS "accountId", modality, model_id AS "modelId",
             state::text AS state, attempt, error_code AS "errorCode", created_at AS "createdAt",
             started_at AS "startedAt", finished_at AS "finishedAt"
        FROM jobs ${where} ORDER BY created_at DESC, request_id LIMIT ${limit}::int`);
  }

  /** Finds a job by request id, or by the queue id of an async job. Resolves to null for an unknown one. */
  async find(id: string): Promise<InspectedJob | null> {
    const queueId = isUuid(id) ? id : null;
    const [row] = await this.prisma.$queryRaw<InspectedRow[]>`
      SELECT j.request_id AS "requestId", j.account_id::text AS "accountId",
             j.api_key_id::text AS "apiKeyId", k.last6 AS key, j.modality,
             j.model_id AS "modelId", j.state::text AS state, j.attempt, j.stream, j.reply_to IS NOT NULL AS "isAwaited",
             j.error_code AS "errorCode", j.created_at AS "createdAt", j.enqueued_at AS "enqueuedAt",
             j.started_at AS "startedAt", j.finished_at AS "finishedAt", j.deadline_at AS "deadlineAt",
             j.prompt_tokens AS "promptTokens", j.cached_tokens AS "cachedTokens",
             j.completion_tokens AS "completionTokens", j.usage_units AS "usageUnits", j.execution_ms AS "executionMs",
             h.state::text AS "holdState", h.diem_nano + h.bundled_nano + h.usd_nano AS "reservedNano",
             h.charged_nano AS "chargedNano", m.queue_id::text AS "queueId", m.progress_percent AS "progressPercent"
        FROM jobs j LEFT JOIN holds h ON h.request_id = j.request_id
        LEFT JOIN media_jobs m ON m.request_id = j.request_id
        LEFT JOIN api_keys k ON k.id = j.api_key_id
       WHERE j.request_id = ${id} OR j.request_id = (SELECT request_id FROM media_jobs WHERE queue_id = ${queueId}::uuid)`;
    if (row === undefined) return null;
    const { requestId } = row;
    const results = await this.prisma.jobResult.findMany({ where: { requestId }, orderBy: { attempt: 'asc' } });
    const { holdState, reservedNano, chargedNano, queueId: mediaQueueId, progressPercent, ...job } = row;
    return {
      ...job,
      reservation: holdState === null ? null : { state: holdState, reservedNano: reservedNano ?? 0n, chargedNano },
      media: mediaQueueId === null ? null : { queueId: mediaQueueId, progressPercent: progressPercent ?? 0 },
      results: results.map(({ attempt, status, applied: isApplied, processedAt }) => {
        return { attempt, status, isApplied, processedAt };
      }),
    };
  }
}
