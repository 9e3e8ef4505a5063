import type { NanoUsd } from '#common';
import { Inject, Injectable } from '#platform/injection';
import { PrismaService, type RawQueries } from '#platform/prisma';

/** The charges of a key; bundled credits count as USD. */
export interface KeySpending {
  /** Today and the six days before, in UTC. */
  sevenDaysUsdNano: NanoUsd;
  sevenDaysDiemNano: NanoUsd;
  /** In the current period of its limits. */
  periodUsdNano: NanoUsd;
  periodDiemNano: NanoUsd;
}

/** Reads the spending of keys, from a few rows each however much they are used. */
@Injectable()
export class KeyUsageRepository {
  // SQL: the windows of many keys are summed in one statement, by the day of the ledger.
  constructor(@Inject(PrismaService) private readonly queries: RawQueries) {}

  /** By key id. Unknown keys are absent. */
  async usageOfKeys(keyIds: readonly string[]): Promise<Map<string, KeySpending>> {
    if (keyIds.length === 0) return new Map();
    const rows = await this.queries.$queryRaw<(KeySpending & { id: string })[]>`
      SELECT k.id::text AS id, days.usd AS "sevenDaysUsdNano", days.diem AS "sevenDaysDiemNano",
             CASE k.limit_period WHEN 'LIFETIME' THEN COALESCE(s.lifetime_usd_nano, 0)
               WHEN 'MONTH' THEN CASE WHEN s.month_start = date_trunc('month', ledger_today())::date
                                      THEN s.month_usd_nano ELSE 0 END
               ELSE CASE WHEN s.day_start = ledger_today() THEN s.day_usd_nano ELSE 0 END END AS "periodUsdNano",
             CASE k.limit_period WHEN 'LIFETIME' THEN COALESCE(s.lifetime_diem_nano, 0)
               WHEN 'MONTH' THEN CASE WHEN s.month_start = date_trunc('month', ledger_today())::date
                                      THEN s.month_diem_nano ELSE 0 END
               ELSE CASE WHEN s.day_start = ledger_today() THEN s.day_diem_nano ELSE 0 END END AS "periodDiemNano"
        FROM api_keys k LEFT JOIN key_spend s ON s.api_key_id = k.id
       CROSS JOIN LATERAL (
         SELECT COALESCE(sum(d.usd_nano), 0)::bigint AS usd, COALESCE(sum(d.diem_nano), 0)::bigint AS diem
           FROM key_daily_spend d WHERE d.api_key_id = k.id AND d.day > ledger_today() - 7) days
       WHERE k.id = ANY(${[...keyIds]}::uuid[])`;
    return new Map(rows.map(({ id, ...spending }) => [id, spending]));
  }

  /** Adds days longer ago than `days` to one row per key; resolves to how many, at most `max`. */
  async foldDays(days: number, max: number): Promise<number> {
    const [row] = await this.queries.$queryRaw<{ count: number }[]>`
      SELECT key_days_fold(${days}::int, ${max}::int) AS count`;
    return row?.count ?? 0;
  }
}
