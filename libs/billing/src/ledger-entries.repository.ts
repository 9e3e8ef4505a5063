import { type Currency, isUuid, type NanoUsd } from '#common';
import { Injectable } from '#platform/injection';
import { boundedRead, PrismaService } from '#platform/prisma';

/** An entry in the history of an account. */
export interface EntryPosition {
  createdAtMs: number;
  entryId: bigint;
}

export interface LedgerLine {
  transactionId: bigint;
  kind: string;
  currency: Currency;
  amountNano: NanoUsd;
  sku: string | null;
  requestId: string | null;
  note: string;
  createdAt: Date;
}

/** A line in the history of an account, with its place there. */
export interface PlacedLine extends LedgerLine {
  entryId: bigint;
  enteredAt: Date;
}

/** How long the database may look, in ms. */
const timeoutMs = 2_000;

/** Lists entries of the ledger. */
@Injectable()
export class LedgerEntriesRepository {
  // SQL: each ledger account of an account is read along its index, no further than the page.
  constructor(private readonly prisma: PrismaService) {}

  /** Returns up to `limit` entries of an account behind one, newest first. Rejects with `REQUEST_TIMEOUT`. */
  async page(accountId: string, after: EntryPosition | null, limit: number): Promise<PlacedLine[]> {
    if (!isUuid(accountId)) return [];
    const at = after === null ? 'infinity' : new Date(after.createdAtMs).toISOString();
    return boundedRead(
      this.prisma,
      { owner: accountId, timeoutMs },
      (transaction) => transaction.$queryRaw<PlacedLine[]>`
        SELECT e.id AS "entryId", e.created_at AS "enteredAt", t.id AS "transactionId", t.kind::text AS kind,
               e.currency::text AS currency, e.amount_nano AS "amountNano", e.sku, t.request_id AS "requestId", t.note,
               t.created_at AS "createdAt"
          FROM (SELECT page.* FROM ledger_accounts a
                 CROSS JOIN LATERAL (
                   SELECT * FROM ledger_entries own
                    WHERE own.ledger_account_id = a.id
                      AND (own.created_at, own.id) < (${at}::timestamptz, ${after?.entryId ?? 0n}::bigint)
                    ORDER BY own.created_at DESC, own.id DESC LIMIT ${limit}::int) page
                 WHERE a.account_id = ${accountId}::uuid
                 ORDER BY page.created_at DESC, page.id DESC LIMIT ${limit}::int) e
          JOIN ledger_transactions t ON t.id = e.transaction_id
         ORDER BY e.created_at DESC, e.id DESC`,
    );
  }

  /** Returns what a request was charged, line by line. */
  async ofRequest(accountId: string, requestId: string): Promise<LedgerLine[]> {
    return this.prisma.$queryRaw<LedgerLine[]>`
      SELECT t.id AS "transactionId", t.kind::text AS kind, e.currency::text AS currency, e.amount_nano AS "amountNano",
             e.sku, t.request_id AS "requestId", t.note, t.created_at AS "createdAt"
        FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id
       WHERE t.kind = 'charge' AND t.request_id = ${requestId} AND t.account_id = ${accountId}::uuid AND e.sku IS NOT NULL
       ORDER BY e.id`;
  }
}
