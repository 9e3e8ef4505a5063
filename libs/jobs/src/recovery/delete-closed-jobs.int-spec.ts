import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createLedger,
  FoldKeyDaysSweep,
  KeyUsageRepository,
  UsageHistoryRepository,
  UsageHistoryService,
} from '#billing';
import { examineDatabase } from '#platform/database';
import { PrismaService } from '#platform/prisma';
import { foldUsage } from '#test/fold-usage';
import { newRowCustomer, type RowCustomer, writeFinishedRequests } from '#test/finished-requests';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { MediaJobsRepository } from '../media/media-jobs.repository.js';
import { expectBoundedTables } from './bounded-tables.conformance.js';
import { DeleteClosedJobsSweep } from './delete-closed-jobs.sweep.js';

const oneDayMs = 86_400_000;

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let customer: RowCustomer;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4 });
  client = new pg.Client(database.url);
  await client.connect();
});
afterAll(async () => {
  await prisma.$disconnect();
  await client.end();
  await database.drop();
});
beforeEach(async () => {
  customer = await newRowCustomer(client);
});

const deleteClosed = (days: number, storageLifetimeMs = oneDayMs) =>
  new DeleteClosedJobsSweep(new JobsRepository(prisma), { days, storageLifetimeMs }).run();

const sweep = async (days: number, storageLifetimeMs = oneDayMs) => {
  await foldUsage(client);
  return deleteClosed(days, storageLifetimeMs);
};

const count = async (table: string): Promise<number> => {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table} WHERE request_id IN (SELECT request_id FROM jobs WHERE account_id = $1)`,
    [customer.account],
  );
  return rows[0]?.count ?? -1;
};

describe('closed jobs', () => {
  it('leave with their results and reservations, and the ledger keeps their charges', async () => {
    await writeFinishedRequests(client, customer, { count: 40, daysAgo: 3 });
    const { chargedNano } = await expectInvariant({ databaseUrl: database.url });
    expect(await sweep(4)).toBe(0);
    expect(await sweep(2)).toBe(40);
    for (const table of ['jobs', 'outcomes', 'holds', 'media_jobs']) expect(await count(table)).toBe(0);
    expect(await expectInvariant({ databaseUrl: database.url })).toMatchObject({ chargedNano });
    expect((await createLedger(prisma).balance(customer.account)).usdNano).toBe(1_000_000_000_000n - 4_000n);
  });

  it('stay until their usage is in the sums of reports', async () => {
    await writeFinishedRequests(client, customer, { count: 40, daysAgo: 3 });
    const tokens = async () => {
      const { rows } = await client.query<{ tokens: number }>(
        `SELECT sum(completion_tokens)::int AS tokens FROM usage_request_lines($1, '-infinity', 'infinity')`,
        [customer.account],
      );
      return rows[0]?.tokens;
    };
    // As after an upgrade: nothing of this database is folded.
    await client.query('TRUNCATE usage_charges, usage_requests');
    await client.query(`UPDATE usage_folded SET through = '-infinity'`);
    const before = await tokens();
    expect(before).toBe(400);
    expect(await deleteClosed(2)).toBe(0);
    expect(await sweep(2)).toBe(40);
    expect(await tokens()).toBe(before);
  });

  it('stay in the usage history with amount, units and request id, without details', async () => {
    await writeFinishedRequests(client, customer, { count: 10, daysAgo: 3 });
    const history = new UsageHistoryService(new UsageHistoryRepository(prisma), { secretKeys: ['cd'.repeat(32)] });
    const page = () => history.first(customer.account, { currency: null, startMs: null, endMs: null, pageSize: 10 });
    const before = await page();
    await sweep(2);
    expect(await page()).toEqual({
      ...before,
      entries: before.entries.map((entry) => ({ ...entry, promptTokens: null, completionTokens: null })),
    });
    expect(before.entries[0]).toMatchObject({ amountNano: -1_000n, promptTokens: 10 });
  });

  it('stay for as long as the result of an async job can be fetched, and are unknown afterwards', async () => {
    await writeFinishedRequests(client, customer, { count: 20, daysAgo: 3 });
    const { rows } = await client.query<{ queue_id: string }>(
      'SELECT queue_id FROM media_jobs JOIN jobs USING (request_id) WHERE account_id = $1',
      [customer.account],
    );
    const key = { queueId: rows[0]?.queue_id ?? '', accountId: customer.account, modelId: 'm' };
    expect(await sweep(2, 3 * oneDayMs)).toBe(19);
    expect(await new MediaJobsRepository(prisma).find(key)).toMatchObject({ state: 'succeeded' });
    expect(await sweep(2, oneDayMs)).toBe(1);
    expect(await new MediaJobsRepository(prisma).find(key)).toBeNull();
  });

  it('stay with an open reservation, which verification reports, and while they are open', async () => {
    await writeFinishedRequests(client, customer, { count: 1, daysAgo: 3 });
    const open = randomUUID();
    await client.query(
      `INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, created_at, deadline_at)
       VALUES ($1, $2, $3, 'chat', 'm', now() - interval '9 days', now())`,
      [open, customer.account, customer.key],
    );
    await client.query(`SELECT ledger_reserve($1, $2, $3, 'm', 2000, NULL, NULL)`, [
      open,
      customer.account,
      customer.key,
    ]);
    expect(await sweep(1)).toBe(1);
    const close = (state: string) =>
      client.query(`UPDATE jobs SET state = $2, finished_at = created_at WHERE request_id = $1`, [open, state]);
    await close('failed');
    expect(await sweep(1)).toBe(0);
    expect((await createLedger(prisma).verify()).breaks.openReservationsWithoutOpenJob).toBe(1);
    await client.query(`SELECT ledger_close($1, 1, 'released', '[]')`, [open]);
    expect(await sweep(1)).toBe(1);
    await expectInvariant({ databaseUrl: database.url });
  });

  it('are deleted once by several replicas', async () => {
    await writeFinishedRequests(client, customer, { count: 2_000, daysAgo: 3 });
    const counts = await Promise.all([1, 2, 3].map(() => sweep(2)));
    expect(counts.reduce((sum, deleted) => sum + deleted, 0)).toBe(2_000);
    await expectInvariant({ databaseUrl: database.url });
  });

  it('leave the tables bounded, round after round', async () => {
    await expectBoundedTables({ rounds: 5, requests: 4_000 });
  }, 300_000);
});

describe('a role with the documented rights of api and ops', () => {
  it('admits, closes and deletes, and nothing is found missing', async () => {
    const url = Object.assign(new URL(database.url), { username: 'plain_role', password: 'plain' }).href;
    await client.query(`CREATE ROLE plain_role LOGIN PASSWORD 'plain'`);
    await client.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO plain_role');
    await client.query('GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO plain_role');
    const plain = new pg.Client(url);
    await plain.connect();
    const plainPrisma = new PrismaService({ url, poolSize: 1 });
    try {
      await writeFinishedRequests(plain, await newRowCustomer(plain), { count: 40, daysAgo: 3 });
      await foldUsage(client);
      const jobs = new JobsRepository(plainPrisma);
      expect(await new DeleteClosedJobsSweep(jobs, { days: 2, storageLifetimeMs: 0 }).run()).toBe(40);
      const { findings } = await examineDatabase(url, { hasQueue: false });
      // Test servers do not wait for disks.
      expect(findings.filter(({ text }) => !text.includes('fsync'))).toEqual([]);
    } finally {
      await plain.end();
      await plainPrisma.$disconnect();
      await client.query('DROP OWNED BY plain_role');
      await client.query('DROP ROLE plain_role');
    }
  });
});

describe('days of key spend', () => {
  it('are added up after a hundred days, and verify', async () => {
    await writeFinishedRequests(client, customer, { count: 10, daysAgo: 3 });
    await client.query(
      `INSERT INTO key_daily_spend (api_key_id, day, usd_nano) SELECT $1, current_date - n, 1 FROM generate_series(99, 400) n`,
      [customer.key],
    );
    await client.query(
      'UPDATE key_daily_spend SET usd_nano = usd_nano - 302 WHERE api_key_id = $1 AND usd_nano > 302',
      [customer.key],
    );
    await expectInvariant({ databaseUrl: database.url });
    const fold = () => new FoldKeyDaysSweep(new KeyUsageRepository(prisma)).run();
    expect(await fold()).toBe(300);
    expect(await fold()).toBe(0);
    const { rows } = await client.query('SELECT 1 FROM key_daily_spend WHERE api_key_id = $1', [customer.key]);
    expect(rows).toHaveLength(4);
    await expectInvariant({ databaseUrl: database.url });
  });
});
