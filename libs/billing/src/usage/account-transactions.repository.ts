import type { NanoUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { Injectable } from '#platform/injection';

export type TransactionType = 'TOP_UP' | 'CHARGE' | 'REFUND';

/** A change of a balance beside the present balance. */
export interface TransactionRow {
  totalNano: NanoUsd;
  /** Null in the one row of an account without transactions. */
  id: string | null;
  type: TransactionType;
  amountNano: NanoUsd;
  createdAt: Date;
  requestId: string | null;
  modelId: string | null;
}

/** Reads changes of balances, of the ledger and of reservations that were released. */
@Injectable()
export class AccountTransactionsRepository {
  // SQL: each source is read along its index, no further than the page, and the balance in the same statement.
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first. One row without an id for an account without transactions; none for an unknown account. */
  async newest(accountId: string, count: number): Promise<TransactionRow[]> {
    return this.prisma.$queryRaw<TransactionRow[]>`
      WITH posted AS (
        SELECT t.id, t.kind, t.created_at, t.request_id, t.model_id, COALESCE(e.amount, 0)::bigint AS amount
          FROM ledger_transactions t CROSS JOIN LATERAL (
            SELECT sum(l.amount_nano) AS amount FROM ledger_entries l JOIN ledger_accounts a ON a.id = l.ledger_account_id
             WHERE l.transaction_id = t.id AND a.account_id = t.account_id AND l.currency <> 'DIEM') e
         WHERE t.account_id = ${accountId}::uuid AND t.kind IN ('charge', 'top_up', 'grant', 'revoke')
           AND (t.kind = 'charge' OR e.amount <> 0)
         ORDER BY t.created_at DESC, t.id DESC LIMIT ${count}::int
      ), returned AS (
        SELECT request_id, model_id, created_at, closed_at, bundled_nano + usd_nano AS amount FROM holds
         WHERE account_id = ${accountId}::uuid AND state = 'released' AND bundled_nano + usd_nano > 0
         ORDER BY closed_at DESC LIMIT ${count}::int
      ), changes AS (
        SELECT id::text AS id, CASE WHEN kind = 'charge' THEN 'CHARGE' ELSE 'TOP_UP' END AS type, amount, created_at,
               request_id, model_id, id AS position FROM posted
        UNION ALL
        SELECT request_id || '-refund', 'REFUND', amount, closed_at, request_id, model_id, 1 FROM returned
        UNION ALL
        SELECT request_id || '-charge', 'CHARGE', -amount, created_at, request_id, model_id, 0 FROM returned
      )
      SELECT b.bundled_nano + b.usd_nano AS "totalNano", c.id, c.type, c.amount AS "amountNano",
             c.created_at AS "createdAt", COALESCE(j.response_id, c.request_id) AS "requestId", c.model_id AS "modelId"
        FROM balances b LEFT JOIN changes c ON true LEFT JOIN jobs j ON j.request_id = c.request_id
       WHERE b.account_id = ${accountId}::uuid
       ORDER BY c.created_at DESC, c.position DESC LIMIT ${count}::int`;
  }
}
