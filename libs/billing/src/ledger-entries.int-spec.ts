import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { insertCustomer, type RowCustomer } from '#test/finished-requests';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { rowsRead } from '#test/rows-read';
import { type EntryPosition, LedgerEntriesRepository, type PlacedLine } from './ledger-entries.repository.js';

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let customer: RowCustomer;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 2 });
  client = new pg.Client(database.url);
  await client.connect();
  customer = await insertCustomer(client);
  const another = await insertCustomer(client);
  // The credits of one statement have the same time.
  for (const [account, count] of [
    [another.account, 50],
    [customer.account, 900],
    [customer.account, 1],
    [customer.account, 99],
  ] as const) {
    for (const currency of ['USD', 'BUNDLED']) {
      await client.query(`SELECT ledger_credit('grant', $1, $2, n, NULL, 'n' || n) FROM generate_series(1, $3) n`, [
        account,
        currency,
        count,
      ]);
    }
  }
  await client.query('ANALYZE');
});

afterAll(async () => {
  await expectInvariant({ databaseUrl: database.url });
  await client.end();
  await prisma.$disconnect();
  await database.drop();
});

const positionOf = ({ enteredAt, entryId }: PlacedLine): EntryPosition => {
  return { createdAtMs: enteredAt.getTime(), entryId };
};

describe('the entries of an account', () => {
  it.each([1_999, 600, 37])('are all listed once, newest first, in pages of %i', async (size) => {
    const { rows } = await client.query<{ id: string }>(
      `SELECT e.id::text AS id FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.ledger_account_id
        WHERE a.account_id = $1 ORDER BY e.created_at DESC, e.id DESC`,
      [customer.account],
    );
    expect(rows).toHaveLength(2_000);
    const repository = new LedgerEntriesRepository(prisma);
    const found: string[] = [];
    for (let page = await repository.page(customer.account, null, size); page.length > 0;) {
      found.push(...page.map(({ entryId }) => String(entryId)));
      const last = page.at(-1) ?? expect.fail('an empty page');
      page = await repository.page(customer.account, positionOf(last), size);
    }
    expect(found).toEqual(rows.map(({ id }) => id));
  });

  it('are read no further than a page of each currency, however long the history is', async () => {
    const [, last] = await new LedgerEntriesRepository(prisma).page(customer.account, null, 2);
    const middle = positionOf(last ?? expect.fail('no entry'));
    for (const after of [null, middle]) {
      const counts = await rowsRead(prisma, (explained) =>
        new LedgerEntriesRepository(explained).page(customer.account, after, 20),
      );
      expect(counts['ledger_entries']).toBeLessThanOrEqual(60);
      expect(counts['ledger_transactions']).toBeLessThanOrEqual(20);
    }
  });
});
