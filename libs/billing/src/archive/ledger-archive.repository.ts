import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import { readFoldedThrough } from '../usage/usage-fold.repository.js';

/** An export of transactions, and how far their deletion is. */
export interface LedgerArchive {
  id: bigint;
  before: Date;
  /** Name without a folder. */
  file: string;
  /** Digest of the file, as hex digits. */
  sha256: string;
  transactions: bigint;
  entries: bigint;
  deleted: bigint;
}

export interface ArchiveLine {
  id: bigint;
  /** The transaction with its entries as JSON. */
  line: string;
  entries: number;
}

/** Reads what an archive takes and replaces it by closing transactions. */
@Injectable()
export class LedgerArchiveRepository {
  // SQL: lines are built where the rows are, and deleting is one function of the database.
  constructor(private readonly prisma: PrismaService) {}

  /** Begin of the current month in UTC, by the clock of the database. */
  async currentMonth(): Promise<Date> {
    const [row] = await this.prisma.$queryRaw<{ month: Date }[]>`
      SELECT date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS month`;
    if (row === undefined) throw new Error('The database did not tell the time.');
    return row.month;
  }

  /** Returns until when usage is in the sums that reports read; null: not at all. */
  async foldedThrough(): Promise<Date | null> {
    return await readFoldedThrough(this.prisma);
  }

  /** Returns the archive whose transactions are not all deleted yet. */
  async findOpen(): Promise<LedgerArchive | null> {
    const [row] = await this.prisma.$queryRaw<LedgerArchive[]>`
      SELECT id, before, file, sha256, transactions, entries, deleted FROM ledger_archives WHERE finished_at IS NULL`;
    return row ?? null;
  }

  async list(): Promise<LedgerArchive[]> {
    return await this.prisma.$queryRaw<LedgerArchive[]>`
      SELECT id, before, file, sha256, transactions, entries, deleted FROM ledger_archives ORDER BY id`;
  }

  /** Returns the transactions that an archive takes, in the order of their ids, behind one of them. */
  async read({ before, afterId, max }: { before: Date; afterId: bigint; max: number }): Promise<ArchiveLine[]> {
    return await this.prisma.$queryRaw<ArchiveLine[]>`
      SELECT t.id, e.entries,
             jsonb_build_object('id', t.id::text, 'kind', t.kind, 'accountId', t.account_id, 'apiKeyId', t.api_key_id,
               'requestId', t.request_id, 'modelId', t.model_id, 'note', t.note, 'createdAt', t.created_at,
               'entries', e.list)::text AS line
        FROM ledger_transactions t
       CROSS JOIN LATERAL (
         SELECT count(*)::int AS entries,
                COALESCE(jsonb_agg(jsonb_build_object('id', e.id::text, 'ledgerAccountId', e.ledger_account_id::text,
                  'owner', COALESCE(a.account_id::text, a.house::text), 'currency', e.currency,
                  'amountNano', e.amount_nano::text, 'sku', e.sku, 'units', e.units::text,
                  'unitPriceNano', e.unit_price_nano::text, 'createdAt', e.created_at) ORDER BY e.id), '[]') AS list
           FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.ledger_account_id
          WHERE e.transaction_id = t.id) e
       WHERE t.id > ${afterId}::bigint AND t.created_at < ${before.toISOString()}::timestamptz
         AND t.reference IS NULL AND t.kind <> 'closing'
       ORDER BY t.id LIMIT ${max}::int`;
  }

  async create(archive: Omit<LedgerArchive, 'id' | 'deleted'> & { lastId: bigint }): Promise<LedgerArchive> {
    const { before, file, sha256, transactions, entries, lastId } = archive;
    const [row] = await this.prisma.$queryRaw<LedgerArchive[]>`
      INSERT INTO ledger_archives (before, file, sha256, transactions, entries, last_id)
      VALUES (${before.toISOString()}::timestamptz, ${file}, ${sha256}, ${transactions}::bigint, ${entries}::bigint,
              ${lastId}::bigint)
      RETURNING id, before, file, sha256, transactions, entries, deleted`;
    if (row === undefined) throw new Error('The database did not keep the archive.');
    return row;
  }

  /** Replaces transactions; those that are gone already are skipped. Resolves to the number of the others. */
  async replace(archiveId: bigint, ids: readonly bigint[]): Promise<number> {
    const [row] = await this.prisma.$queryRaw<{ count: number }[]>`
      SELECT ledger_archive_transactions(${archiveId}::bigint, ${ids.map(String)}::bigint[]) AS count`;
    return row?.count ?? 0;
  }

  async finish(archiveId: bigint): Promise<void> {
    await this.prisma.$executeRaw`UPDATE ledger_archives SET finished_at = now() WHERE id = ${archiveId}::bigint`;
  }
}
