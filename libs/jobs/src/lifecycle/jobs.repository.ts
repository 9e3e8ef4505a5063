import type { Caller } from '#accounts';
import { Injectable } from '#platform/injection';
import { Prisma, PrismaService } from '#platform/prisma';
import type { ReservedTokens } from '#rate-limit';
import type { AdmittedJob, ClosedJob, JobClosing, JobState, JobTransaction } from './job-states.js';

export interface NewJob {
  requestId: string;
  caller: Caller;
  modality: string;
  modelId: string;
  stream: boolean;
  replyTo: string | null;
  /** The id in the response's body, if it is not the request id. */
  responseId?: string;
  deadlineMs: number;
  /** True when the job enters the queue later (`completePreparation`), and no sweep enqueues it before. */
  isPreparing?: boolean;
  ciphertext: Uint8Array<ArrayBuffer>;
  /** Default: none. */
  reservedTokens?: ReservedTokens | null;
}

/** An open row as sweeps and cancellation see it. */
export interface OpenJob {
  requestId: string;
  accountId: string;
  modality: string;
  modelId: string;
  attempt: number;
  state: JobState;
  replyTo: string | null;
  stream: boolean;
  deadlineAtMs: number;
}

/** An open row of a page. */
export interface FoundJob extends OpenJob {
  /** The row's time in the order of the list, in ms since the epoch; job times are whole milliseconds. */
  positionAtMs: number;
}

/** A page request: the maximum number of rows, from the first one or after another. */
export interface Page {
  rows: number;
  after: FoundJob | null;
}

type OpenJobRow = Omit<OpenJob, 'deadlineAtMs'> & { deadlineAt: Date; positionAt: Date };

/** Open rows of one queue in one state. */
export interface OpenCount {
  modality: string;
  modelId: string;
  state: JobState;
  count: number;
  /** Those of them that were delivered before. */
  retried: number;
  oldestSeconds: number;
}

interface ClosedRow {
  request_id: string;
  account_id: string;
  api_key_id: string;
  modality: string;
  model_id: string;
  limit_slot: bigint | null;
  limit_tokens: bigint | null;
}

/** Reads and writes job rows and all their state transitions. Every time is that of the database. */
@Injectable()
export class JobsRepository {
  // SQL: states move by compare-and-set on the database's clock, many rows in one statement.
  constructor(private readonly prisma: PrismaService) {}

  /** Runs `work` in one transaction; rolls back when it rejects. */
  async transaction<Result>(work: (transaction: JobTransaction) => Promise<Result>): Promise<Result> {
    return this.prisma.$prepared(work);
  }

  /** Inserts rows and payloads in one statement; the results are in the order of the jobs. */
  async insert(jobs: readonly NewJob[], transaction: JobTransaction): Promise<AdmittedJob[]> {
    const rows = await transaction.$queryRaw<{ request_id: string; deadline_at: Date }[]>`
      WITH given AS (
        SELECT * FROM unnest(
            ${jobs.map(({ requestId }) => requestId)}::text[], ${jobs.map(({ caller }) => caller.accountId)}::uuid[],
            ${jobs.map(({ caller }) => caller.apiKeyId)}::uuid[], ${jobs.map(({ modality }) => modality)}::text[],
            ${jobs.map(({ modelId }) => modelId)}::text[], ${jobs.map(({ stream }) => stream)}::boolean[],
            ${jobs.map(({ replyTo }) => replyTo)}::text[], ${jobs.map(({ responseId }) => responseId ?? null)}::text[],
            ${jobs.map((job) => job.reservedTokens?.slot ?? null)}::bigint[],
            ${jobs.map((job) => job.reservedTokens?.tokens ?? null)}::bigint[],
            ${jobs.map(({ deadlineMs }) => deadlineMs)}::float8[],
            ${jobs.map(({ isPreparing }) => isPreparing === true)}::boolean[],
            ${jobs.map(({ ciphertext }) => Buffer.from(ciphertext))}::bytea[])
          AS g(request_id, account_id, api_key_id, modality, model_id, stream, reply_to, response_id, limit_slot,
               limit_tokens, deadline_ms, is_preparing, ciphertext)
      ), inserted AS (
        INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, stream, reply_to, response_id, limit_slot,
                          limit_tokens, deadline_at, enqueued_at)
        SELECT request_id, account_id, api_key_id, modality, model_id, stream, reply_to, response_id, limit_slot,
               limit_tokens, now() + deadline_ms * interval '1 ms',
               CASE WHEN is_preparing THEN now() + deadline_ms * interval '1 ms' ELSE now() END FROM given
        RETURNING request_id, deadline_at
      ), payloads AS (
        INSERT INTO job_payloads (request_id, ciphertext) SELECT request_id, ciphertext FROM given
      )
      SELECT request_id, deadline_at FROM inserted`;
    const deadlines = new Map(rows.map((row) => [row.request_id, row.deadline_at.getTime()]));
    return jobs.map(({ requestId, caller, modality, modelId }) => {
      const deadlineAtMs = deadlines.get(requestId);
      if (deadlineAtMs === undefined) throw new Error('The database did not return the inserted job.');
      return { requestId, ...callerIds(caller), modality, modelId, deadlineAtMs };
    });
  }

  /**
   * Closes each row if `attempt` is its current one and it is open; drops its payload. The results are in the order of
   * the closings, null where another closing came first, the attempt is an older one, or there is no such row. Rows are
   * locked in one order, so that two groups never wait for each other.
   */
  async close(closings: readonly JobClosing[], transaction: JobTransaction): Promise<(ClosedJob | null)[]> {
    const records = closings.map(({ usage, ...closing }) => ({
      requestId: closing.requestId,
      attempt: closing.attempt,
      state: closing.state,
      errorCode: closing.errorCode,
      executionMs: closing.executionMs,
      firstTokenMs: closing.firstTokenMs,
      worker: closing.worker,
      ...usage,
    }));
    const rows = await transaction.$queryRaw<ClosedRow[]>`
      WITH given AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(${JSON.stringify(records)}::jsonb)
          AS g("requestId" text, attempt int, state job_state, "errorCode" text, "executionMs" int, "firstTokenMs" int,
               worker text, "promptTokens" int, "cachedTokens" int, "completionTokens" int, "reasoningTokens" int,
               units jsonb)
      ), locked AS MATERIALIZED (
        SELECT request_id FROM jobs WHERE request_id IN (SELECT "requestId" FROM given) ORDER BY request_id FOR UPDATE
      ), closed AS (
        UPDATE jobs
           SET state = g.state, finished_at = now(), error_code = g."errorCode",
               -- Both may be late: starts are written in batches, and results wait while the database is down.
               started_at = LEAST(started_at, CASE WHEN g."executionMs" > 0
                 THEN GREATEST(created_at, now() - g."executionMs" * interval '1 ms') END),
               prompt_tokens = g."promptTokens", cached_tokens = g."cachedTokens",
               completion_tokens = g."completionTokens", reasoning_tokens = g."reasoningTokens",
               usage_units = g.units, execution_ms = g."executionMs", first_token_ms = g."firstTokenMs",
               worker = g.worker
          FROM locked JOIN given g ON g."requestId" = locked.request_id
         WHERE jobs.request_id = locked.request_id AND jobs.attempt = g.attempt AND jobs.state IN ('queued', 'running')
        RETURNING jobs.request_id, account_id, api_key_id, modality, model_id, limit_slot, limit_tokens
      ), dropped AS (
        DELETE FROM job_payloads WHERE request_id IN (SELECT request_id FROM closed)
      ), noted AS (
        INSERT INTO outcomes (request_id, attempt, status, applied)
        SELECT g."requestId", g.attempt, g.state::text, closed.request_id IS NOT NULL
          FROM given g JOIN locked ON locked.request_id = g."requestId"
          LEFT JOIN closed ON closed.request_id = g."requestId"
        ON CONFLICT DO NOTHING
      )
      SELECT * FROM closed`;
    const closed = new Map(rows.map((row) => [row.request_id, row]));
    return closings.map((closing) => {
      const row = closed.get(closing.requestId);
      return row === undefined ? null : closedJob(closing, row);
    });
  }

  /** Marks rows that a worker has picked up. Locked rows, which are most likely being closed, are skipped. */
  async markRunning(requestIds: string[]): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE jobs SET state = 'running', started_at = now()
       WHERE request_id IN (SELECT request_id FROM jobs WHERE request_id = ANY (${requestIds}) AND state = 'queued'
                             ORDER BY request_id FOR NO KEY UPDATE SKIP LOCKED) AND state = 'queued'`;
  }

  async find(requestId: string): Promise<OpenJob | null> {
    const [row] = await this.findOpen(Prisma.sql`created_at`, Prisma.sql`request_id = ${requestId}`);
    return row ?? null;
  }

  /** Lists queued rows that entered the queue over `olderThanMs` ago and still have time, the oldest first. */
  async findQueued(olderThanMs: number, page: Page): Promise<FoundJob[]> {
    const queued = Prisma.sql`state = 'queued' AND deadline_at > now()
       AND enqueued_at < now() - ${olderThanMs}::float8 * interval '1 ms'`;
    return this.findOpen(Prisma.sql`enqueued_at`, queued, page);
  }

  /** Lists running rows that started over `olderThanMs` ago, the oldest first. */
  async findRunning(olderThanMs: number, page: Page): Promise<FoundJob[]> {
    const running = Prisma.sql`state = 'running' AND started_at < now() - ${olderThanMs}::float8 * interval '1 ms'`;
    return this.findOpen(Prisma.sql`started_at`, running, page);
  }

  /** Lists open rows whose deadline passed over `graceMs` ago, the oldest first. */
  async findOverdue(graceMs: number, page: Page): Promise<FoundJob[]> {
    const overdue = Prisma.sql`state IN ('queued', 'running')
       AND deadline_at < now() - ${graceMs}::float8 * interval '1 ms'`;
    return this.findOpen(Prisma.sql`deadline_at`, overdue, page);
  }

  /**
   * Stores the payload of a job that was being prepared and starts its deadline. Resolves to that, in ms since the epoch;
   * null when the row was closed or is overdue.
   */
  async completePreparation({
    requestId,
    ciphertext,
    deadlineMs,
  }: Pick<NewJob, 'requestId' | 'ciphertext' | 'deadlineMs'>): Promise<number | null> {
    const rows = await this.prisma.$queryRaw<{ deadline_at: Date }[]>`
      WITH prepared AS (
        UPDATE jobs SET enqueued_at = now(), deadline_at = now() + ${deadlineMs}::float8 * interval '1 ms'
         WHERE request_id = ${requestId} AND attempt = 1 AND state = 'queued' AND deadline_at > now()
        RETURNING request_id, deadline_at
      ), stored AS (
        UPDATE job_payloads SET ciphertext = ${Buffer.from(ciphertext)}
         WHERE request_id IN (SELECT request_id FROM prepared)
      )
      SELECT deadline_at FROM prepared`;
    return rows[0]?.deadline_at.getTime() ?? null;
  }

  /** Starts the next attempt of an open row; resolves to its payload, or null when another process came first. */
  async startNextAttempt(job: OpenJob): Promise<Uint8Array | null> {
    const rows = await this.prisma.$queryRaw<{ ciphertext: Uint8Array }[]>`
      WITH retried AS (
        UPDATE jobs SET attempt = attempt + 1, state = 'queued', enqueued_at = now(), started_at = NULL
         WHERE request_id = ${job.requestId} AND attempt = ${job.attempt}::int
           AND state = ${job.state}::job_state AND state IN ('queued', 'running') AND deadline_at > now()
        RETURNING request_id
      )
      SELECT ciphertext FROM job_payloads WHERE request_id IN (SELECT request_id FROM retried)`;
    return rows[0]?.ciphertext ?? null;
  }

  /** Returns which of these rows are open. */
  async selectOpen(requestIds: readonly string[]): Promise<string[]> {
    const rows = await this.prisma.$queryRaw<{ request_id: string }[]>`
      SELECT request_id FROM jobs WHERE request_id = ANY (${[...requestIds]}) AND state IN ('queued', 'running')`;
    return rows.map(({ request_id: id }) => id);
  }

  /**
   * Deletes the jobs that ended first, at least `ageMs` ago, with everything that belongs to them; async jobs stay for
   * `mediaAgeMs`. Resolves to their number, at most `rows`.
   */
  async deleteClosed({ ageMs, mediaAgeMs, rows }: ClosedAge): Promise<number> {
    const [row] = await this.prisma.$queryRaw<{ count: number }[]>`
      SELECT jobs_delete_closed(${ageMs}::float8 * interval '1 ms', ${mediaAgeMs}::float8 * interval '1 ms',
                                ${rows}::int) AS count`;
    return row?.count ?? 0;
  }

  /** Counts open rows, by queue and state, and returns how long the oldest has been in the queue, in seconds. */
  async countOpen(): Promise<OpenCount[]> {
    return this.prisma.$queryRaw`
      SELECT modality, model_id AS "modelId", state::text AS state, count(*)::int AS count,
             count(*) FILTER (WHERE attempt > 1)::int AS retried,
             GREATEST(EXTRACT(EPOCH FROM now() - min(enqueued_at)), 0)::float8 AS "oldestSeconds"
        FROM jobs WHERE state IN ('queued', 'running') GROUP BY 1, 2, 3`;
  }

  /** One statement: a row that changed after it was selected must not be read in its new state. */
  private async findOpen(
    position: Prisma.Sql,
    which: Prisma.Sql,
    { rows: max, after }: Page = { rows: 1, after: null },
  ): Promise<FoundJob[]> {
    const behind = after === null ? Prisma.empty : behindOf(position, after);
    const rows = await this.prisma.$queryRaw<OpenJobRow[]>(Prisma.sql`
      SELECT request_id AS "requestId", account_id AS "accountId", modality, model_id AS "modelId", attempt, state::text AS state,
             reply_to AS "replyTo", stream, deadline_at AS "deadlineAt", ${position} AS "positionAt"
        FROM jobs WHERE ${which} ${behind} ORDER BY ${position}, request_id LIMIT ${max}::int`);
    return rows.map(({ deadlineAt, positionAt, ...job }) => {
      return { ...job, deadlineAtMs: deadlineAt.getTime(), positionAtMs: positionAt.getTime() };
    });
  }
}

/** The ages from which closed jobs may be deleted. */
export interface ClosedAge {
  ageMs: number;
  mediaAgeMs: number;
  rows: number;
}

/** Selects rows after one in the order of the list. The index covers only the time. */
function behindOf(position: Prisma.Sql, { positionAtMs, requestId }: FoundJob): Prisma.Sql {
  const at = Prisma.sql`${new Date(positionAtMs).toISOString()}::timestamptz`;
  return Prisma.sql`AND ${position} >= ${at} AND (${position}, request_id) > (${at}, ${requestId})`;
}

function reservedTokensOf({ limit_slot: slot, limit_tokens: tokens }: ClosedRow): ReservedTokens | null {
  return slot === null || tokens === null ? null : { slot: Number(slot), tokens: Number(tokens) };
}

function closedJob(closing: JobClosing, row: ClosedRow): ClosedJob {
  const ids = { accountId: row.account_id, apiKeyId: row.api_key_id, modality: row.modality, modelId: row.model_id };
  return { ...closing, ...ids, reservedTokens: reservedTokensOf(row) };
}

function callerIds(caller: Caller): { accountId: string; apiKeyId: string } {
  return { accountId: caller.accountId, apiKeyId: caller.apiKeyId };
}
