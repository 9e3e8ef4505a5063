import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Currency, nanosPerUsd, newRequestId, noTokens } from '#common';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { JobQuote } from '../job-quote.js';
import { LedgerRepository } from '../ledger.repository.js';
import { createLedger } from '../create-ledger.js';
import { LedgerService } from '../ledger.service.js';
import { AccountTransactions } from './account-transactions.service.js';
import { AccountTransactionsRepository } from './account-transactions.repository.js';

let database: TestDatabase;
let prisma: PrismaService;
let pool: pg.Pool;
let ledger: LedgerService;
let transactions: AccountTransactions;
let account: string;
let key: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  ledger = createLedger(prisma);
  transactions = new AccountTransactions(new AccountTransactionsRepository(prisma));
});

afterAll(async () => {
  await prisma.$disconnect();
  await pool.end();
  await database.drop();
});

beforeEach(async () => {
  account = randomUUID();
  await pool.query(`INSERT INTO accounts (id, name) VALUES ($1, 'a')`, [account]);
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO api_keys (account_id, kind, key_hash, last6) VALUES ($1, 'INFERENCE', sha256($2::bytea), 'abcdef')
     RETURNING id`,
    [account, randomUUID()],
  );
  key = rows[0]?.id ?? '';
});

async function credit(kind: 'top_up' | 'grant' | 'revoke', amountNano: bigint, currency: Currency = 'USD') {
  await ledger.credit(kind, { accountId: account, currency, amountNano });
}

/** A request that reserves an amount, and is charged a part of it; null: it fails. */
async function run(
  reservedNano: bigint,
  chargedNano: bigint | null,
  responseId: string | null = null,
): Promise<string> {
  const requestId = newRequestId('TST');
  const job = { requestId, accountId: account, apiKeyId: key, modelId: 'a-model' };
  await prisma.$transaction(async (transaction) => {
    await transaction.$executeRaw`
      INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, deadline_at, response_id)
      VALUES (${requestId}, ${account}::uuid, ${key}::uuid, 'chat', 'a-model', now(), ${responseId})`;
    const quote = new JobQuote(reservedNano, { id: null, modelId: 'a-model', pricing: null }, noTokens);
    await new LedgerRepository(prisma).reserve([{ job, quote }], transaction);
  });
  const lines =
    chargedNano === null ? null : [{ sku: 'sku', units: '1', unitPriceNano: chargedNano, amountNano: chargedNano }];
  await new LedgerRepository(prisma).close([{ requestId, accountId: account, attempt: 1, lines }], prisma);
  return requestId;
}

const page = (limit = 50, offset = 0) => transactions.page(account, { limit, offset });

/** Type, amount and balance in cents. */
async function inCents(): Promise<[string, number, number][]> {
  const cents = (nanos: bigint) => Number(nanos / 10_000_000n);
  return (await page()).transactions.map(({ type, amountNano, balanceNano }) => [
    type,
    cents(amountNano),
    cents(balanceNano),
  ]);
}

const cent = nanosPerUsd / 100n;

describe('AccountTransactions', () => {
  it('has nothing of a new account', async () => {
    expect(await page()).toEqual({ balanceNano: 0n, transactions: [], hasMore: false });
  });

  it('counts the balance back through credit, charges and failed requests', async () => {
    await credit('top_up', 500n * cent);
    await run(30n * cent, 20n * cent);
    await run(40n * cent, null);
    await credit('grant', 100n * cent, 'BUNDLED');
    await credit('revoke', 50n * cent);
    expect(await inCents()).toEqual([
      ['TOP_UP', -50, 530],
      ['TOP_UP', 100, 580],
      ['REFUND', 40, 480],
      ['CHARGE', -40, 440],
      ['CHARGE', -20, 480],
      ['TOP_UP', 500, 500],
    ]);
  });

  it('leaves DIEM out, and lists a charge that they paid with the rest of it', async () => {
    await ledger.setStake(account, 10n * cent);
    await credit('top_up', 100n * cent);
    await run(6n * cent, 6n * cent);
    await run(6n * cent, 6n * cent);
    const failed = await run(1n, null);
    const { transactions: found, balanceNano } = await page();
    // In the same millisecond, the failed request may stand before the last charge.
    const others = found.filter(({ requestId }) => requestId !== failed);
    expect(others.map(({ type, amountNano }) => [type, amountNano / cent])).toEqual([
      ['CHARGE', -2n],
      ['CHARGE', 0n],
      ['TOP_UP', 100n],
    ]);
    expect(balanceNano).toBe(98n * cent);
  });

  it('names the model and the id that the caller saw', async () => {
    await credit('top_up', nanosPerUsd);
    const requestId = await run(cent, cent);
    await run(cent, cent, 'chatcmpl-1');
    const [second, first, topUp] = (await page()).transactions;
    expect(second).toMatchObject({ requestId: 'chatcmpl-1', modelId: 'a-model' });
    expect(first).toMatchObject({ requestId, modelId: 'a-model' });
    expect(topUp).toMatchObject({ requestId: null, modelId: null });
  });

  it('shows every transaction on one page, whatever the pages, and nothing of another account', async () => {
    await credit('top_up', 500n * cent);
    for (let count = 0; count < 5; count += 1) await run(3n * cent, count % 2 === 0 ? cent : null);
    const whole = (await page()).transactions;
    expect(whole).toHaveLength(1 + 3 + 2 * 2);
    const paged = [];
    for (let offset = 0; ; offset += 3) {
      const { transactions: some, hasMore } = await page(3, offset);
      paged.push(...some);
      if (!hasMore) break;
    }
    expect(paged).toEqual(whole);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
    expect((await page(3, 1_000)).transactions).toEqual([]);
    expect((await transactions.page(randomUUID(), { limit: 50, offset: 0 })).transactions).toEqual([]);
  });
});
