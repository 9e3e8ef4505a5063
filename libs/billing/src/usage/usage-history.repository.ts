import type { Currency, NanoUsd } from '#common';
import { Prisma, PrismaService } from '#platform/prisma';
import type { UsageFilter, UsagePosition } from './usage-cursor.js';
import { Injectable } from '#platform/injection';

/** One line of a charge. */
export interface UsageEntry {
  entryId: bigint;
  createdAt: Date;
  sku: string;
  /** A decimal, in units of the price. */
  units: string;
  unitPriceNano: NanoUsd;
  /** Negative for a charge. */
  amountNano: NanoUsd;
  currency: Currency;
  note: string;
  requestId: string | null;
  /** The id that the caller saw in the body; null where it is the request id. */
  responseId: string | null;
  executionMs: number | null;
  promptTokens: number | null;
  completionTokens: number | null;
}

/**
 * Reads the lines of an account's charges in the order they were written. The entries of an account are written and
 * dated one charge after another, under its lock: later commits come after everything that was already read.
 */
@Injectable()
export class UsageHistoryRepository {
  // SQL: a page is read along the index of each currency, which Prisma cannot express.
  constructor(private readonly prisma: PrismaService) {}

  /** Returns `limit` lines after `after`. Each currency is read along its index, no further than the page. */
  async page(
    accountId: string,
    filter: UsageFilter,
    after: UsagePosition | null,
    limit: number,
  ): Promise<UsageEntry[]> {
    const conditions = [Prisma.sql`e.sku IS NOT NULL`];
    if (filter.startMs !== null) conditions.push(Prisma.sql`e.created_at >= ${instant(filter.startMs)}`);
    if (filter.endMs !== null) conditions.push(Prisma.sql`e.created_at < ${instant(filter.endMs)}`);
    if (after) {
      conditions.push(Prisma.sql`(e.created_at, e.id) > (${instant(after.createdAtMs)}, ${after.entryId}::bigint)`);
    }
    const currency =
      filter.currency === null ? Prisma.empty : Prisma.sql`AND a.currency = ${filter.currency}::currency`;
    return this.prisma.$queryRaw<UsageEntry[]>`
      WITH page AS MATERIALIZED (
        SELECT e.* FROM ledger_accounts a CROSS JOIN LATERAL (
          SELECT * FROM ledger_entries e
           WHERE e.ledger_account_id = a.id AND ${Prisma.join(conditions, ' AND ')}
           ORDER BY e.created_at, e.id LIMIT ${limit}::int) e
         WHERE a.account_id = ${accountId}::uuid ${currency}
         ORDER BY e.created_at, e.id LIMIT ${limit}::int
      )
      SELECT page.id AS "entryId", page.created_at AS "createdAt", page.sku, page.units::text AS units,
             page.unit_price_nano AS "unitPriceNano", page.amount_nano AS "amountNano", page.currency::text AS currency,
             t.note, t.request_id AS "requestId", j.response_id AS "responseId", j.execution_ms AS "executionMs", j.prompt_tokens AS "promptTokens",
             j.completion_tokens AS "completionTokens"
        FROM page JOIN ledger_transactions t ON t.id = page.transaction_id
        LEFT JOIN jobs j ON j.request_id = t.request_id
       ORDER BY page.created_at, page.id`;
  }
}

function instant(ms: number): Prisma.Sql {
  return Prisma.sql`${new Date(ms)}::timestamptz`;
}
