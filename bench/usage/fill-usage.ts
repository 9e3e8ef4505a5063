import { randomBytes } from 'node:crypto';
import { AccountsRepository, AccountsService } from '#accounts';
import type { PrismaService } from '#platform/prisma';
import { unboundLimits } from '#test/unbound-limits';

const positionsPerChat = 2;

/** Request data for the bench. */
export interface FilledUsage {
  adminKey: string;
  /** Times of the first and the last position. */
  days: number;
}

/**
 * Creates an account with `positions` chat positions evenly over `days`, three of four in USD and the rest in bundled
 * credits and DIEM, with their jobs. Other accounts have an eighth as many in between. Inserted in bulk without
 * triggers and system accounts, for reading only.
 */
export async function fillUsage(
  prisma: PrismaService,
  positions: number,
  { keys = 20, days = 90 } = {},
): Promise<FilledUsage> {
  const accounts = new AccountsService(new AccountsRepository(prisma));
  const { id } = await accounts.createAccount('history');
  await unboundLimits(prisma, id);
  const { key: adminKey } = await accounts.createKey({ accountId: id, kind: 'ADMIN' });
  for (let index = 0; index < keys; index += 1) {
    await accounts.createKey({ accountId: id, kind: 'INFERENCE', description: `key ${index}` });
  }
  await fillAccount(prisma, { accountId: id, chats: Math.ceil(positions / positionsPerChat), days });
  const other = await accounts.createAccount('others');
  await accounts.createKey({ accountId: other.id, kind: 'INFERENCE' });
  await fillAccount(prisma, { accountId: other.id, chats: Math.ceil(positions / positionsPerChat / 8), days });
  await prisma.$executeRaw`INSERT INTO prices (model_id, model_type) SELECT 'model-' || n, 'text' FROM generate_series(0, 9) n`;
  await prisma.$executeRawUnsafe('VACUUM ANALYZE');
  return { adminKey, days };
}

async function fillAccount(
  prisma: PrismaService,
  { accountId, chats, days }: { accountId: string; chats: number; days: number },
): Promise<void> {
  const prefix = randomBytes(4).toString('hex');
  await prisma.$transaction(
    async (transaction) => {
      await transaction.$executeRaw`SET LOCAL session_replication_role = replica`;
      await transaction.$executeRaw`
        CREATE TEMP TABLE chat ON COMMIT DROP AS
        SELECT n, ${prefix} || '-' || n AS request_id, 'model-' || n % 10 AS model_id,
               k.keys[1 + n % array_length(k.keys, 1)] AS key_id,
               CASE WHEN n % 8 = 0 THEN 'DIEM' WHEN n % 8 = 1 THEN 'BUNDLED' ELSE 'USD' END::currency AS currency,
               now() - ${days}::int * interval '1 day' * (1 - n / ${chats}::float8) AS at
          FROM generate_series(1, ${chats}::int) n,
               (SELECT array_agg(id) AS keys FROM api_keys WHERE account_id = ${accountId}::uuid) k`;
      await transaction.$executeRaw`
        INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, prompt_tokens,
                          completion_tokens, execution_ms, created_at, enqueued_at, deadline_at, finished_at)
        SELECT request_id, ${accountId}::uuid, key_id, 'chat', model_id, 'succeeded', 20, 100, 700, at, at, at, at
          FROM chat`;
      await transaction.$executeRaw`
        WITH posted AS (
          INSERT INTO ledger_transactions (kind, account_id, api_key_id, request_id, model_id, created_at)
          SELECT 'charge', ${accountId}::uuid, key_id, request_id, model_id, at FROM chat ORDER BY n
          RETURNING id, request_id
        )
        INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano, sku, units,
                                    unit_price_nano, created_at)
        SELECT posted.id, a.id, chat.currency, part.amount, chat.model_id || part.sku, part.units, 50000000, chat.at
          FROM posted JOIN chat USING (request_id)
          JOIN ledger_accounts a ON a.account_id = ${accountId}::uuid AND a.currency = chat.currency
         CROSS JOIN (VALUES (-1000, '-llm-input-mtoken', 0.00002), (-5000, '-llm-output-mtoken', 0.0001))
            AS part(amount, sku, units)
         ORDER BY chat.n`;
    },
    { timeout: 600_000 },
  );
}
