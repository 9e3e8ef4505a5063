import type { NanoUsd } from '#common';
import { Injectable } from '#platform/injection';
import { PrismaService, type RawQueries } from '#platform/prisma';
import type { KeyStanding } from '../reservation-refused.js';

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
  constructor(private readonly prisma: PrismaService) {}

  /** By key id. Unknown keys are absent. */
  async usageOfKeys(keyIds: readonly string[], queries: RawQueries = this.prisma): Promise<Map<string, KeySpending>> {
    if (keyIds.length === 0) return new Map();
    const rows = await queries.$queryRaw<(KeySpending & { id: string })[]>`
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

  /** Returns the limits of a key beside what counts against them; null for an unknown key. */
  async standingOf(apiKeyId: string, transaction: RawQueries): Promise<KeyStanding | null> {
    const [row] = await transaction.$queryRaw<(KeyStanding & { heldUsdNano: NanoUsd; heldDiemNano: NanoUsd })[]>`
      SELECT k.limit_usd_nano AS "limitUsdNano", k.limit_diem_nano AS "limitDiemNano",
             k.limit_period::text AS "limitPeriod", COALESCE(s.held_usd_nano, 0) AS "heldUsdNano",
             COALESCE(s.held_diem_nano, 0) AS "heldDiemNano",
             CASE k.limit_period WHEN 'LIFETIME' THEN NULL
               WHEN 'MONTH' THEN (date_trunc('month', ledger_today()) + interval '1 month')::timestamp AT TIME ZONE 'UTC'
               ELSE (ledger_today() + 1)::timestamp AT TIME ZONE 'UTC' END AS "resetsAt"
        FROM api_keys k LEFT JOIN key_spend s ON s.api_key_id = k.id WHERE k.id = ${apiKeyId}::uuid`;
    const spending = (await this.usageOfKeys([apiKeyId], transaction)).get(apiKeyId);
    if (row === undefined || spending === undefined) return null;
    const { heldUsdNano, heldDiemNano, ...limits } = row;
    return {
      ...limits,
      usedUsdNano: spending.periodUsdNano + heldUsdNano,
      usedDiemNano: spending.periodDiemNano + heldDiemNano,
    };
  }

  /** Adds days longer ago than `days` to one row per key; resolves to how many, at most `max`. */
  async foldDays(days: number, max: number): Promise<number> {
    const [row] = await this.prisma.$queryRaw<{ count: number }[]>`
      SELECT key_days_fold(${days}::int, ${max}::int) AS count`;
    return row?.count ?? 0;
  }
}
