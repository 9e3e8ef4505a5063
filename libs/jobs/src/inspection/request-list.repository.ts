import { isUuid, type NanoUsd } from '#common';
import { Injectable } from '#platform/injection';
import { boundedRead, Prisma, PrismaService } from '#platform/prisma';
import type { JobState } from '../lifecycle/job-states.js';
import type { ListedJob } from './job-inspection.repository.js';

/** Selects requests by owner and state. A member that is null restricts nothing. */
export interface RequestFilter {
  /** Null: those of every account. */
  accountId: string | null;
  apiKeyId: string | null;
  modelId: string | null;
  states: readonly JobState[] | null;
  /** A request id, as in `CF-RAY`, or the queue id of an async job. */
  id: string | null;
  /** Range of the time at which a request ended, or began if it is open: ms since the epoch, the first inclusive. */
  fromMs: number | null;
  toMs: number | null;
}

/** A place in the list: open requests come first, then the others, each with the newest first. */
export interface RequestPosition {
  isOpen: boolean;
  /** The time at which it ended, or began if it is open. */
  atMs: number;
  requestId: string;
}

/** A request as lists show it: what it was, and never what was in it. */
export interface RequestRow extends ListedJob {
  queueId: string | null;
  apiKeyId: string;
  keyDescription: string;
  keyLast6: string;
  executionMs: number | null;
  /** Time from the start of the run to its first token, in ms. */
  firstTokenMs: number | null;
  /** Pools and id of the worker that ran it; null while it is open. */
  worker: string | null;
  promptTokens: number | null;
  cachedTokens: number | null;
  completionTokens: number | null;
  /** Null while it is open. */
  chargedNano: NanoUsd | null;
}

/** How long the database may look, in ms. */
const timeoutMs = 2_000;

/** Lists requests page by page. */
@Injectable()
export class RequestListRepository {
  // SQL: open and ended requests are read along an index each, no further than the page.
  constructor(private readonly prisma: PrismaService) {}

  /** Returns up to `limit` requests behind a position. Rejects with `REQUEST_TIMEOUT`. */
  async page(filter: RequestFilter, after: RequestPosition | null, limit: number): Promise<RequestRow[]> {
    return boundedRead(this.prisma, { owner: filter.accountId, timeoutMs }, async (transaction) => {
      const open =
        after?.isOpen === false ? [] : await transaction.$queryRaw<RequestRow[]>(openRows(filter, after, limit));
      if (open.length >= limit) return open;
      const endedAfter = after?.isOpen === false ? after : null;
      const ended = await transaction.$queryRaw<RequestRow[]>(endedRows(filter, endedAfter, limit - open.length));
      return [...open, ...ended];
    });
  }
}

/** The position of a row, from which the next page goes on. */
export function positionOf({ createdAt, finishedAt, requestId }: RequestRow): RequestPosition {
  return { isOpen: finishedAt === null, atMs: (finishedAt ?? createdAt).getTime(), requestId };
}

function openRows(filter: RequestFilter, after: RequestPosition | null, limit: number): Prisma.Sql {
  // The first condition is that of the partial index over open rows.
  return rows(Prisma.sql`j.state IN ('queued', 'running')`, Prisma.sql`j.created_at`, { filter, after, limit });
}

function endedRows(filter: RequestFilter, after: RequestPosition | null, limit: number): Prisma.Sql {
  return rows(Prisma.sql`j.finished_at IS NOT NULL`, Prisma.sql`j.finished_at`, { filter, after, limit });
}

interface PageOptions {
  filter: RequestFilter;
  after: RequestPosition | null;
  limit: number;
}

function rows(which: Prisma.Sql, position: Prisma.Sql, { filter, after, limit }: PageOptions): Prisma.Sql {
  const conditions = [which, ...conditionsOf(filter, position), ...(after === null ? [] : behind(position, after))];
  return Prisma.sql`
    SELECT p.request_id AS "requestId", m.queue_id::text AS "queueId", p.account_id::text AS "accountId", p.modality,
           p.model_id AS "modelId", p.api_key_id::text AS "apiKeyId", COALESCE(k.description, '') AS "keyDescription",
           COALESCE(k.last6, '') AS "keyLast6", p.state::text AS state, p.attempt, p.error_code AS "errorCode",
           p.created_at AS "createdAt", p.started_at AS "startedAt", p.finished_at AS "finishedAt",
           p.execution_ms AS "executionMs", p.first_token_ms AS "firstTokenMs", p.worker,
           p.prompt_tokens AS "promptTokens", p.cached_tokens AS "cachedTokens",
           p.completion_tokens AS "completionTokens",
           CASE WHEN p.finished_at IS NULL THEN NULL ELSE COALESCE(h.charged_nano, 0) END AS "chargedNano"
      FROM (SELECT j.*, ${position} AS position FROM jobs j WHERE ${Prisma.join(conditions, ' AND ')}
             ORDER BY ${position} DESC, j.request_id DESC LIMIT ${limit}::int) p
      LEFT JOIN holds h ON h.request_id = p.request_id
      LEFT JOIN media_jobs m ON m.request_id = p.request_id
      LEFT JOIN api_keys k ON k.id = p.api_key_id
     ORDER BY p.position DESC, p.request_id DESC`;
}

function conditionsOf(filter: RequestFilter, position: Prisma.Sql): Prisma.Sql[] {
  const { accountId, apiKeyId, modelId, states, id, fromMs, toMs } = filter;
  return [
    ...(accountId === null ? [] : [Prisma.sql`j.account_id = ${accountId}::uuid`]),
    ...(apiKeyId === null ? [] : [Prisma.sql`j.api_key_id = ${apiKeyId}::uuid`]),
    ...(modelId === null ? [] : [Prisma.sql`j.model_id = ${modelId}`]),
    ...(states === null ? [] : [Prisma.sql`j.state::text = ANY (${[...states]}::text[])`]),
    ...(id === null ? [] : [hasId(id)]),
    ...(fromMs === null ? [] : [Prisma.sql`${position} >= ${moment(fromMs)}`]),
    ...(toMs === null ? [] : [Prisma.sql`${position} < ${moment(toMs)}`]),
  ];
}

function hasId(id: string): Prisma.Sql {
  if (!isUuid(id)) return Prisma.sql`j.request_id = ${id}`;
  return Prisma.sql`j.request_id IN (SELECT m.request_id FROM media_jobs m WHERE m.queue_id = ${id}::uuid)`;
}

/** Rows behind one in the order of the list. The index covers only the time. */
function behind(position: Prisma.Sql, { atMs, requestId }: RequestPosition): Prisma.Sql[] {
  const at = moment(atMs);
  return [Prisma.sql`${position} <= ${at}`, Prisma.sql`(${position}, j.request_id) < (${at}, ${requestId}::text)`];
}

function moment(ms: number): Prisma.Sql {
  return Prisma.sql`${new Date(ms).toISOString()}::timestamptz`;
}
