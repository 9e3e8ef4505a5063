import { Injectable } from '#platform/injection';
import { boundedRead, Prisma, PrismaService } from '#platform/prisma';

/** Whole UTC days, both included. */
export interface UsageDays {
  startDate: string;
  endDate: string;
}

/** An aggregate over charges. `level` names its dimensions; members outside it are null. */
export interface UsageSum {
  level: 'date' | 'model' | 'model-date' | 'key' | 'key-date';
  date: string | null;
  modelId: string | null;
  apiKeyId: string | null;
  sku: string | null;
  isDiem: boolean;
  amountNano: bigint;
  /** A decimal, in units of the price. */
  units: string;
}

export interface KeyName {
  id: string;
  description: string;
  last6: string;
}

/** A million charges are then joined and sorted in memory, not on disk. */
const workMemMb = 64;

const tooMuchUsage = 'There is too much usage in this range to sum it up in time; ask for fewer days.';

/** By how much the database gives up a sum before the driver gives up its connection, in ms. */
const headStartMs = 2_000;

/** Aggregates of an account's charges, from one scan of the requested days. */
@Injectable()
export class UsageAnalyticsRepository {
  // SQL: all sums come from one scan by GROUPING SETS.
  constructor(private readonly prisma: PrismaService) {}

  /** How long a sum may take before the driver would give up its connection, in ms. */
  get maxSumMs(): number {
    return (this.prisma.queryTimeoutMs ?? 10_000) - headStartMs;
  }

  /** Rejects with `REQUEST_TIMEOUT` after `timeoutMs`. */
  async sums(accountId: string, { startDate, endDate }: UsageDays, timeoutMs: number): Promise<UsageSum[]> {
    const sums = Prisma.sql`
      WITH fine AS MATERIALIZED (
        SELECT (occurred_at AT TIME ZONE 'UTC')::date::text AS date, model_id, api_key_id, sku, is_diem,
               sum(amount_nano) AS amount, sum(units) AS units
          FROM usage_charge_lines(${accountId}::uuid, (${startDate}::date)::timestamp AT TIME ZONE 'UTC',
                                  (${endDate}::date + 1)::timestamp AT TIME ZONE 'UTC')
         GROUP BY 1, 2, 3, 4, 5
      )
      SELECT CASE grouping(date, model_id, api_key_id, sku)
               WHEN 7 THEN 'date' WHEN 10 THEN 'model' WHEN 3 THEN 'model-date' WHEN 8 THEN 'key' ELSE 'key-date'
             END AS level,
             date, model_id AS "modelId", api_key_id::text AS "apiKeyId", sku, is_diem AS "isDiem",
             sum(amount)::bigint AS "amountNano", sum(units)::text AS units
        FROM fine
       GROUP BY GROUPING SETS ((date, is_diem), (model_id, sku, is_diem), (date, model_id, is_diem),
                               (api_key_id, model_id, sku, is_diem), (date, api_key_id, is_diem))`;
    const bound = { owner: accountId, timeoutMs, workMemMb, message: tooMuchUsage };
    return boundedRead(this.prisma, bound, (transaction) => transaction.$queryRaw<UsageSum[]>(sums));
  }

  /** Returns the type of each model that ever had a price, by id. */
  async modelTypes(modelIds: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.prisma.$queryRaw<{ modelId: string; modelType: string }[]>`
      SELECT DISTINCT ON (model_id) model_id AS "modelId", model_type AS "modelType" FROM prices
       WHERE model_id = ANY(${[...modelIds]}::text[]) ORDER BY model_id, effective_at DESC, id DESC`;
    return new Map(rows.map(({ modelId, modelType }) => [modelId, modelType]));
  }

  /** Returns the labels of keys, deleted ones included. */
  async keyNames(keyIds: readonly string[]): Promise<KeyName[]> {
    return this.prisma.$queryRaw<KeyName[]>`
      SELECT id::text AS id, description, last6 FROM api_keys WHERE id = ANY(${[...keyIds]}::uuid[])`;
  }
}
