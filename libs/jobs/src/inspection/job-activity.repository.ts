import { Injectable } from '#platform/injection';
import { boundedRead, Prisma, PrismaService } from '#platform/prisma';

/** Selects the jobs of an account and key. Null selects those of every account, or of every key. */
export interface ActivityScope {
  accountId: string | null;
  apiKeyId: string | null;
}

/** The requests that ended in one minute. */
export interface ActiveMinute {
  minute: Date;
  requests: number;
  errors: number;
}

/** The open jobs of one modality. */
export interface OpenModality {
  modality: string;
  waiting: number;
  running: number;
  /** How long the oldest one has waited, in ms; null when none waits. */
  oldestMs: number | null;
}

export interface JobActivity {
  /** The minutes of the last hour that had any. */
  minutes: ActiveMinute[];
  /** Completion tokens of the requests that ended in the last 60 s. */
  recentTokens: number;
  open: OpenModality[];
}

/** How long the database may look, in ms. */
const timeoutMs = 2_000;

/** Sums the jobs of the last hour up. */
@Injectable()
export class JobActivityRepository {
  // SQL: sums by the minute, and by the database's clock.
  constructor(private readonly prisma: PrismaService) {}

  /** Rejects with `REQUEST_TIMEOUT`. */
  async lastHour(scope: ActivityScope): Promise<JobActivity> {
    const where = conditionsOf(scope);
    return boundedRead(this.prisma, { owner: scope.accountId, timeoutMs }, async (transaction) => {
      const rows = await transaction.$queryRaw<(ActiveMinute & { tokens: number })[]>(Prisma.sql`
        SELECT date_trunc('minute', finished_at) AS minute, count(*)::int AS requests,
               count(*) FILTER (WHERE state IN ('failed', 'expired'))::int AS errors,
               COALESCE(sum(completion_tokens) FILTER (WHERE finished_at > now() - interval '60 s'), 0)::float8 AS tokens
          FROM jobs WHERE finished_at >= date_trunc('minute', now()) - interval '59 minutes' ${where}
         GROUP BY 1 ORDER BY 1`);
      const open = await transaction.$queryRaw<OpenModality[]>(Prisma.sql`
        SELECT modality, count(*) FILTER (WHERE state = 'queued')::int AS waiting,
               count(*) FILTER (WHERE state = 'running')::int AS running,
               (EXTRACT(EPOCH FROM now() - min(enqueued_at) FILTER (WHERE state = 'queued')) * 1000)::float8 AS "oldestMs"
          FROM jobs WHERE state IN ('queued', 'running') ${where} GROUP BY 1 ORDER BY 1`);
      const recentTokens = rows.reduce((sum, { tokens }) => sum + tokens, 0);
      return { minutes: rows.map(({ tokens: _tokens, ...minute }) => minute), recentTokens, open };
    });
  }
}

function conditionsOf({ accountId, apiKeyId }: ActivityScope): Prisma.Sql {
  const account = accountId === null ? Prisma.empty : Prisma.sql`AND account_id = ${accountId}::uuid`;
  return apiKeyId === null ? account : Prisma.sql`${account} AND api_key_id = ${apiKeyId}::uuid`;
}
