import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { UsageAnalyticsRepository } from './usage-analytics.repository.js';
import { UsageAnalyticsService } from './usage-analytics.service.js';

/** Same limits as in the API, scaled down. */
const poolSize = 5;
const queryTimeoutMs = 4_000;

let database: TestDatabase;
let prisma: PrismaService;
let pool: pg.Pool;
let usageAnalytics: UsageAnalyticsService;
let owners: string[];

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize, queryTimeoutMs });
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  const accounts = new AccountsService(new AccountsRepository(prisma));
  usageAnalytics = new UsageAnalyticsService(new UsageAnalyticsRepository(prisma));
  owners = await Promise.all(['a', 'b', 'c'].map(async (name) => (await accounts.createAccount(name)).id));
});

afterAll(async () => {
  await prisma.$disconnect();
  await pool.end();
  await database.drop();
});

async function sumsUnderWay(): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'active' AND query LIKE '%WITH fine AS MATERIALIZED%'
        AND pid <> pg_backend_pid()`,
  );
  return rows[0]?.count ?? 0;
}

describe('usage queries that do not finish', () => {
  it('leave connections for other requests and are cancelled by the database before the driver times out', async () => {
    const replica = await pool.connect();
    // Opens the connection before the queries take all others.
    await sumsUnderWay();
    try {
      await replica.query('BEGIN');
      await replica.query('LOCK TABLE ledger_entries IN ACCESS EXCLUSIVE MODE');
      const days = ['2026-11-01', '2026-11-02', '2026-11-03', '2026-11-04'];
      const asked = Promise.allSettled(
        owners.flatMap((owner) => days.map((day) => usageAnalytics.analyse(owner, { startDate: day, endDate: day }))),
      );
      await expect.poll(sumsUnderWay).toBe(2);
      await prisma.ping();
      const codes = (await asked).map(
        (result) => result.status === 'rejected' && (result.reason as { code?: string }).code,
      );
      expect(new Set(codes)).toEqual(new Set(['REQUEST_TIMEOUT']));
      expect(await sumsUnderWay()).toBe(0);
    } finally {
      await replica.query('ROLLBACK');
      replica.release();
    }
  });
});
