import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import { nanosPerUsd } from '#common';
import type { PrismaService } from '#platform/prisma';

const amountNano = 6_000n;
const entriesPerCharge = 3;

/**
 * Bulk-inserts about `entries` entries as closed chats create them (input, output, revenue). They are consistent, but
 * bypass the row-level triggers.
 */
export async function fillLedger(prisma: PrismaService, entries: number): Promise<void> {
  const charges = Math.ceil(entries / entriesPerCharge);
  const accounts = new AccountsService(new AccountsRepository(prisma));
  const { id } = await accounts.createAccount('history');
  const { record } = await accounts.createKey({ accountId: id, kind: 'INFERENCE' });
  const credit = amountNano * BigInt(charges) + nanosPerUsd;
  await createLedger(prisma).credit('grant', { accountId: id, currency: 'USD', amountNano: credit });
  const spent = amountNano * BigInt(charges);
  await prisma.$transaction(
    async (transaction) => {
      await transaction.$executeRaw`SET LOCAL session_replication_role = replica`;
      await transaction.$executeRaw`
        INSERT INTO holds (request_id, account_id, api_key_id, model_id, state, diem_nano, bundled_nano, usd_nano,
                           charged_nano, diem_epoch, closed_at)
        SELECT 'history-' || n, ${id}::uuid, ${record.id}::uuid, 'bench', 'settled', 0, 0, 100000,
               ${amountNano}::bigint, ledger_today(), now() FROM generate_series(1, ${charges}::int) n`;
      await transaction.$executeRaw`
        WITH posted AS (
          INSERT INTO ledger_transactions (kind, account_id, api_key_id, request_id, model_id)
          SELECT 'charge', ${id}::uuid, ${record.id}::uuid, 'history-' || n, 'bench'
            FROM generate_series(1, ${charges}::int) n RETURNING id
        )
        INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano, sku, units, unit_price_nano)
        SELECT posted.id, a.id, 'USD', part.amount, part.sku, 0.00002, 50000000
          FROM posted, (VALUES (-1000, 'bench-llm-input-mtoken'), (-5000, 'bench-llm-output-mtoken'), (6000, NULL))
            AS part(amount, sku)
          JOIN ledger_accounts a ON a.currency = 'USD'
           AND CASE WHEN part.amount < 0 THEN a.account_id = ${id}::uuid ELSE a.house = 'revenue' END`;
      await transaction.$executeRaw`
        UPDATE balances SET usd_nano = usd_nano - ${spent}::bigint WHERE account_id = ${id}::uuid`;
      await transaction.$executeRaw`
        INSERT INTO key_spend (api_key_id, day_start, month_start, lifetime_usd_nano)
        VALUES (${record.id}::uuid, ledger_today(), date_trunc('month', ledger_today())::date, ${spent}::bigint)`;
      await transaction.$executeRaw`
        INSERT INTO key_daily_spend (api_key_id, day, usd_nano)
        VALUES (${record.id}::uuid, ledger_today(), ${spent}::bigint)`;
    },
    { timeout: 600_000 },
  );
  await prisma.$executeRaw`ANALYZE`;
}
