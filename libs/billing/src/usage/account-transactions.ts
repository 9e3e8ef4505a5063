import type { NanoUsd } from '#common';
import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

export type TransactionType = 'TOP_UP' | 'CHARGE' | 'REFUND';

/** One change of the USD of an account, bundled credits included; DIEM are not in the amounts. */
export interface AccountTransaction {
  id: string;
  type: TransactionType;
  /** Negative for a charge. */
  amountNano: NanoUsd;
  /** After this transaction. */
  balanceNano: NanoUsd;
  createdAt: Date;
  /** The id that the caller saw; null for credit. */
  requestId: string | null;
  modelId: string | null;
}

export interface TransactionPage {
  /** Before what running requests have reserved. */
  balanceNano: NanoUsd;
  transactions: AccountTransaction[];
  hasMore: boolean;
}

interface Row {
  totalNano: NanoUsd;
  /** Null in the one row of an account without transactions. */
  id: string | null;
  type: TransactionType;
  amountNano: NanoUsd;
  createdAt: Date;
  requestId: string | null;
  modelId: string | null;
}

/**
 * Reads what changed the balance of an account, newest first. A request that failed is two transactions: what was
 * reserved for it, and its return. They are read from reservations, since the ledger has no entries for money that did
 * not move; the others are those of the ledger.
 */
@Injectable()
export class AccountTransactions {
  constructor(private readonly prisma: PrismaService) {}

  /** The work grows with `offset`: each balance is counted back from the present one. */
  async page(accountId: string, { limit, offset }: { limit: number; offset: number }): Promise<TransactionPage> {
    const rows = await this.read(accountId, offset + limit + 1);
    let balanceNano = rows[0]?.totalNano ?? 0n;
    const transactions = rows.flatMap(({ totalNano: _total, id, ...row }): AccountTransaction[] => {
      if (id === null) return [];
      const transaction = { id, ...row, balanceNano };
      balanceNano -= row.amountNano;
      return [transaction];
    });
    return {
      balanceNano: rows[0]?.totalNano ?? 0n,
      transactions: transactions.slice(offset, offset + limit),
      hasMore: transactions.length > offset + limit,
    };
  }

  private async read(accountId: string, count: number): Promise<Row[]> {
    // SQL: each source is read along its index, no further than the page, and the balance in the same statement.
    return this.prisma.$queryRaw<Row[]>`
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
