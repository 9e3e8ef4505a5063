import { Injectable } from '#platform/injection';
import { boundedRead, Prisma, PrismaService } from '#platform/prisma';
import type { KeyName } from './usage-analytics.repository.js';
import { UsageAnalyticsRepository } from './usage-analytics.repository.js';

export const usageGroupings = ['day', 'model', 'key', 'type'] as const;
export type UsageGrouping = (typeof usageGroupings)[number];

/** Whose usage, and which part of it. */
export interface UsageSelection {
  /** Null: every account. */
  accountId: string | null;
  apiKeyId: string | null;
  modelId: string | null;
}

/** The sums of one group. Failed requests cost nothing, and their tokens are not counted. */
export interface UsageFigures {
  requests: number;
  failed: number;
  promptTokens: number;
  /** Those of the prompt that were found in a cache. */
  cachedTokens: number;
  completionTokens: number;
  /** All currencies; one DIEM is one USD. */
  spendNano: bigint;
  diemNano: bigint;
}

/** `key` is the number of the day in the range, from 1 on, a model, the id of an API key, or a modality. */
export type UsageGroupRow = UsageFigures & { key: string };

type TextRow = { key: string } & Record<keyof UsageFigures, string>;

/** How long the database may compute, in ms. */
const timeoutMs = 2_000;
const workMemMb = 32;

/** Sums of an account's usage in the days of a zone. */
@Injectable()
export class UsageReportRepository {
  // SQL: usage is read through functions of the database, which add what is folded and what is not (usage_figures).
  constructor(
    private readonly prisma: PrismaService,
    private readonly analytics: UsageAnalyticsRepository,
  ) {}

  /** `borders` are the moments at which the days begin, and the end of the last one. Rejects with `REQUEST_TIMEOUT`. */
  async groups(
    selection: UsageSelection,
    borders: readonly number[],
    groupBy: UsageGrouping,
  ): Promise<UsageGroupRow[]> {
    const moments = borders.map((ms) => new Date(ms).toISOString());
    const statement = Prisma.sql`
      SELECT ${keyOf(groupBy, moments)} AS key, sum(requests)::text AS requests, sum(failed)::text AS failed,
             sum(prompt_tokens)::text AS "promptTokens", sum(cached_tokens)::text AS "cachedTokens",
             sum(completion_tokens)::text AS "completionTokens", sum(amount_nano)::text AS "spendNano",
             sum(diem_nano)::text AS "diemNano"
        FROM ${sourceOf(groupBy, selection, moments)} GROUP BY 1`;
    const rows = await boundedRead(this.prisma, { owner: selection.accountId, timeoutMs, workMemMb }, (transaction) =>
      transaction.$queryRaw<TextRow[]>(statement),
    );
    return rows.map(figuresOf);
  }

  /** Returns the labels of keys, deleted ones included. */
  keyNames(keyIds: readonly string[]): Promise<KeyName[]> {
    return this.analytics.keyNames(keyIds);
  }
}

/** Returns the function of the database that reads the fewest rows: days of a zone need quarters, other groups whole days. */
function sourceOf(groupBy: UsageGrouping, selection: UsageSelection, moments: readonly string[]): Prisma.Sql {
  const { accountId, apiKeyId, modelId } = selection;
  const account = Prisma.sql`${accountId}::uuid`;
  const range = Prisma.sql`${moments[0] ?? ''}::timestamptz, ${moments.at(-1) ?? ''}::timestamptz`;
  if (groupBy !== 'day') {
    return Prisma.sql`usage_day_figures(${account}, ${range}) WHERE ${conditionsOf(selection)}`;
  }
  if (apiKeyId === null && modelId === null) return Prisma.sql`usage_slot_figures(${account}, ${range})`;
  return Prisma.sql`usage_filtered_figures(${account}, ${apiKeyId}::uuid, ${modelId}::text, ${range})`;
}

function keyOf(groupBy: UsageGrouping, moments: readonly string[]): Prisma.Sql {
  switch (groupBy) {
    case 'day':
      // A subquery is computed once; the cast alone would read all borders again for every row.
      return Prisma.sql`width_bucket(occurred_at, (SELECT ${[...moments]}::text[]::timestamptz[]))::text`;
    case 'model':
      return Prisma.sql`COALESCE(model_id, '')`;
    case 'key':
      return Prisma.sql`COALESCE(api_key_id::text, '')`;
    case 'type':
      return Prisma.sql`modality`;
  }
}

function conditionsOf({ apiKeyId, modelId }: UsageSelection): Prisma.Sql {
  return Prisma.join(
    [
      Prisma.sql`true`,
      ...(apiKeyId === null ? [] : [Prisma.sql`api_key_id = ${apiKeyId}::uuid`]),
      ...(modelId === null ? [] : [Prisma.sql`model_id = ${modelId}`]),
    ],
    ' AND ',
  );
}

function figuresOf({ key, spendNano, diemNano, ...counts }: TextRow): UsageGroupRow {
  return {
    key,
    requests: Number(counts.requests),
    failed: Number(counts.failed),
    promptTokens: Number(counts.promptTokens),
    cachedTokens: Number(counts.cachedTokens),
    completionTokens: Number(counts.completionTokens),
    spendNano: BigInt(spendNano),
    diemNano: BigInt(diemNano),
  };
}
