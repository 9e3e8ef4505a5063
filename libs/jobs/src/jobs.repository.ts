import type { Caller } from '#accounts';
import type { PrismaService } from '#platform/prisma';
import type { ReservedTokens } from '#rate-limit';
import type { AdmittedJob, ClosedJob, JobClosing, JobState, JobTransaction } from './job-states.js';

export interface NewJob {
  requestId: string;
  caller: Caller;
  modality: string;
  modelId: string;
  stream: boolean;
  replyTo: string | null;
  deadlineMs: number;
  ciphertext: Uint8Array<ArrayBuffer>;
  /** Default: none. */
  reservedTokens?: ReservedTokens | null;
}

/** An open row as the sweeps and the cancel see it. */
export interface OpenJob {
  requestId: string;
  modality: string;
  modelId: string;
  attempt: number;
  state: JobState;
  replyTo: string | null;
  stream: boolean;
  deadlineAtMs: number;
}

interface ClosedRow {
  account_id: string;
  api_key_id: string;
  modality: string;
  model_id: string;
  limit_slot: bigint | null;
  limit_tokens: bigint | null;
}

type Queries = PrismaService | JobTransaction;

/** In ms. A burst on one account is admitted one by one; whoever waits longer than this is better told so. */
const transactionLimits = { maxWait: 5_000, timeout: 10_000 } as const;

/** The row and everything that moves its state. Every time is the database's. */
export class JobsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Runs `work` in one transaction; rolls back when it rejects. */
  async transaction<Result>(work: (transaction: JobTransaction) => Promise<Result>): Promise<Result> {
    return this.prisma.$transaction(work, transactionLimits);
  }

  /** Row and payload in one statement; with `transaction`, part of it. */
  async insert(job: NewJob, transaction: Queries = this.prisma): Promise<AdmittedJob> {
    const { caller, reservedTokens: reserved } = job;
    const rows = await transaction.$queryRaw<{ deadline_at: Date }[]>`
      WITH job AS (
        INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, stream, reply_to, limit_slot,
                          limit_tokens, deadline_at)
        VALUES (${job.requestId}, ${caller.accountId}::uuid, ${caller.apiKeyId}::uuid, ${job.modality},
                ${job.modelId}, ${job.stream}, ${job.replyTo}, ${reserved?.slot ?? null}::bigint,
                ${reserved?.tokens ?? null}::bigint, now() + ${job.deadlineMs}::float8 * interval '1 ms')
        RETURNING request_id, deadline_at
      ), payload AS (
        INSERT INTO job_payloads (request_id, ciphertext) SELECT request_id, ${job.ciphertext} FROM job
      )
      SELECT deadline_at FROM job`;
    const deadlineAt = rows[0]?.deadline_at;
    if (!deadlineAt) throw new Error('The database did not return the inserted job.');
    const { requestId, modality, modelId } = job;
    return { requestId, ...callerIds(caller), modality, modelId, deadlineAtMs: deadlineAt.getTime() };
  }

  /**
   * Closes the row if `attempt` is its current one and it is open; drops the payload. Null when somebody else was
   * first, the attempt is an older one, or there is no such row.
   */
  async close(closing: JobClosing, transaction: Queries = this.prisma): Promise<ClosedJob | null> {
    const { requestId, attempt, state, errorCode, usage, executionMs } = closing;
    const units = usage?.units === undefined ? null : JSON.stringify(usage.units);
    const rows = await transaction.$queryRaw<ClosedRow[]>`
      WITH closed AS (
        UPDATE jobs
           SET state = ${state}::job_state, finished_at = now(), error_code = ${errorCode},
               started_at = COALESCE(started_at, CASE WHEN ${executionMs}::int > 0
                 THEN GREATEST(created_at, now() - ${executionMs}::float8 * interval '1 ms') END),
               prompt_tokens = ${usage?.promptTokens ?? null}::int,
               cached_tokens = ${usage?.cachedTokens ?? null}::int,
               completion_tokens = ${usage?.completionTokens ?? null}::int,
               reasoning_tokens = ${usage?.reasoningTokens ?? null}::int,
               usage_units = ${units}::jsonb, execution_ms = ${executionMs}::int
         WHERE request_id = ${requestId} AND attempt = ${attempt}::int AND state IN ('queued', 'running')
        RETURNING request_id, account_id, api_key_id, modality, model_id, limit_slot, limit_tokens
      ), dropped AS (
        DELETE FROM job_payloads WHERE request_id IN (SELECT request_id FROM closed)
      ), noted AS (
        INSERT INTO outcomes (request_id, attempt, status, applied)
        SELECT request_id, ${attempt}::int, ${state}, EXISTS (SELECT 1 FROM closed)
          FROM jobs WHERE request_id = ${requestId}
        ON CONFLICT DO NOTHING
      )
      SELECT account_id, api_key_id, modality, model_id, limit_slot, limit_tokens FROM closed`;
    const row = rows[0];
    if (!row) return null;
    const ids = { accountId: row.account_id, apiKeyId: row.api_key_id, modality: row.modality, modelId: row.model_id };
    return { ...closing, ...ids, reservedTokens: reservedTokensOf(row) };
  }

  /** Marks rows that a worker has picked up. */
  async markRunning(requestIds: string[]): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE jobs SET state = 'running', started_at = now()
       WHERE request_id = ANY (${requestIds}) AND state = 'queued'`;
  }

  async find(requestId: string): Promise<OpenJob | null> {
    const row = await this.prisma.job.findUnique({ where: { requestId }, select: openJobColumns });
    return row && toOpenJob(row);
  }

  /** Queued rows that entered the queue over `olderThanMs` ago and still have time, oldest first. */
  async findQueued(olderThanMs: number, limit: number): Promise<OpenJob[]> {
    const ids = await this.prisma.$queryRaw<{ request_id: string }[]>`
      SELECT request_id FROM jobs
       WHERE state = 'queued' AND enqueued_at < now() - ${olderThanMs}::float8 * interval '1 ms' AND deadline_at > now()
       ORDER BY enqueued_at LIMIT ${limit}::int`;
    return this.findMany(ids);
  }

  /** Running rows that started over `olderThanMs` ago, oldest first. */
  async findRunning(olderThanMs: number, limit: number): Promise<OpenJob[]> {
    const ids = await this.prisma.$queryRaw<{ request_id: string }[]>`
      SELECT request_id FROM jobs
       WHERE state = 'running' AND started_at < now() - ${olderThanMs}::float8 * interval '1 ms'
       ORDER BY started_at LIMIT ${limit}::int`;
    return this.findMany(ids);
  }

  /** Open rows whose deadline passed over `graceMs` ago. */
  async findOverdue(graceMs: number, limit: number): Promise<OpenJob[]> {
    const ids = await this.prisma.$queryRaw<{ request_id: string }[]>`
      SELECT request_id FROM jobs
       WHERE state IN ('queued', 'running') AND deadline_at < now() - ${graceMs}::float8 * interval '1 ms'
       ORDER BY deadline_at LIMIT ${limit}::int`;
    return this.findMany(ids);
  }

  /** Starts the next attempt of a queued row; resolves to its payload, or null when somebody else was first. */
  async startNextAttempt(job: OpenJob): Promise<Uint8Array | null> {
    const rows = await this.prisma.$queryRaw<{ ciphertext: Uint8Array }[]>`
      WITH retried AS (
        UPDATE jobs SET attempt = attempt + 1, enqueued_at = now()
         WHERE request_id = ${job.requestId} AND attempt = ${job.attempt}::int
           AND state = 'queued' AND deadline_at > now()
        RETURNING request_id
      )
      SELECT ciphertext FROM job_payloads WHERE request_id IN (SELECT request_id FROM retried)`;
    return rows[0]?.ciphertext ?? null;
  }

  /** How many rows are open, by queue and state. */
  async countOpen(): Promise<{ modality: string; modelId: string; state: JobState; count: number }[]> {
    return this.prisma.$queryRaw`
      SELECT modality, model_id AS "modelId", state::text AS state, count(*)::int AS count
        FROM jobs WHERE state IN ('queued', 'running') GROUP BY 1, 2, 3`;
  }

  private async findMany(ids: { request_id: string }[]): Promise<OpenJob[]> {
    if (ids.length === 0) return [];
    const where = { requestId: { in: ids.map((row) => row.request_id) } };
    return (await this.prisma.job.findMany({ where, select: openJobColumns })).map(toOpenJob);
  }
}

const openJobColumns = {
  requestId: true,
  modality: true,
  modelId: true,
  attempt: true,
  state: true,
  replyTo: true,
  stream: true,
  deadlineAt: true,
} as const;

function toOpenJob({ deadlineAt, ...job }: Omit<OpenJob, 'deadlineAtMs'> & { deadlineAt: Date }): OpenJob {
  return { ...job, deadlineAtMs: deadlineAt.getTime() };
}

function reservedTokensOf({ limit_slot: slot, limit_tokens: tokens }: ClosedRow): ReservedTokens | null {
  return slot === null || tokens === null ? null : { slot: Number(slot), tokens: Number(tokens) };
}

function callerIds(caller: Caller): { accountId: string; apiKeyId: string } {
  return { accountId: caller.accountId, apiKeyId: caller.apiKeyId };
}
