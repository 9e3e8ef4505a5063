import pg from 'pg';
import { expect } from 'vitest';
import { ConsoleSessionsRepository, DeleteExpiredSessionsSweep } from '#accounts';
import { FoldKeyDaysSweep, FoldUsageSweep, KeyUsageRepository, UsageFoldRepository } from '#billing';
import { DeleteOldInstallationsSweep, InstallationRepository } from '#model-registry/installations';
import { PrismaService } from '#platform/prisma';
import { DeleteExpiredWindowsSweep, PostgresLimitStore } from '#rate-limit';
import { foldUsage } from '#test/fold-usage';
import { newRowCustomer, writeExpiredRows, writeFinishedRequests, writeOldUsage } from '#test/finished-requests';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase } from '#test/postgres';
import { DeleteStoredResponsesSweep } from '../idempotency/delete-stored-responses.sweep.js';
import { IdempotencyRepository } from '../idempotency/idempotency.repository.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { DeleteExpiredLinksSweep } from '../media/downloads/delete-expired-links.sweep.js';
import { DownloadLinksRepository } from '../media/downloads/download-links.repository.js';
import { DeleteExpiredResponsesSweep } from '../response-states/delete-expired-responses.sweep.js';
import { ResponseStatesRepository } from '../response-states/response-states.repository.js';
import { DeleteExpiredSignaturesSweep } from '../signatures/delete-expired-signatures.sweep.js';
import { ExchangeSignaturesRepository } from '../signatures/exchange-signatures.repository.js';
import { DeleteClosedJobsSweep } from './delete-closed-jobs.sweep.js';

/** The life of a table's rows, in docs/operate/operations.md too. A new table needs a line in both. */
type Life =
  /** Requests write rows, and a sweep deletes them. */
  | 'swept'
  /** One row for each quarter of an hour with usage, key and model, for three years. */
  | 'summed'
  /** The ledger grows until it is archived (docs/guides/billing.md). */
  | 'archived'
  /** The next write deletes what has expired; the tests of their repositories check it. */
  | 'deleted at the next write'
  /** Grows with accounts, keys, wallets, models and characters, not with requests. */
  | 'kept';

const lives: Readonly<Record<string, Life>> = {
  ...livesOf('swept', [
    ...['jobs', 'job_payloads', 'media_jobs', 'holds', 'outcomes', 'idempotency_keys', 'response_states'],
    ...['exchange_signatures', 'download_links', 'console_sessions', 'console_links'],
    ...['rate_limit_windows', 'rate_limit_leases', 'model_installations', 'model_installers'],
  ]),
  ...livesOf('summed', ['usage_charges', 'usage_requests', 'usage_slots', 'usage_filtered_slots', 'usage_days']),
  ...livesOf('archived', ['ledger_transactions', 'ledger_entries']),
  ...livesOf('deleted at the next write', [
    ...['cloned_voices', 'rate_limit_log', 'search_results', 'spent_web3_tokens', 'top_ups', 'wallet_nonces'],
    ...['worker_holdings', 'sent_transactions'],
  ]),
  ...livesOf('kept', [
    ...['_prisma_migrations', 'key_fingerprints', 'ledger_verification', 'usage_folded', 'placement_revision'],
    ...[
      'accounts',
      'api_keys',
      'wallets',
      'balances',
      'ledger_accounts',
      'key_spend',
      'key_daily_spend',
      'retired_holds',
    ],
    ...['archived_sums', 'archived_key_charges', 'ledger_archives', 'rate_limit_overrides'],
    ...['models', 'model_aliases', 'model_placements', 'prices'],
    ...['characters', 'character_reviews', 'character_documents', 'character_passages', 'bundled_characters'],
  ]),
};

function livesOf(life: Life, tables: readonly string[]): Record<string, Life> {
  return Object.fromEntries(tables.map((table) => [table, life]));
}

/** Rows that each quarter of an hour adds to the sums while a test runs: one of charges, one of requests and one of both. */
const maxSumsPerQuarter = 3;
const quarterMs = 900_000;

/** The sweeps run until none finds anything: in ops they run every few seconds. */
async function sweep(prisma: PrismaService): Promise<void> {
  for (;;) {
    // The sweeps are new each time, because they pause after a run that found little.
    const sweeps = [
      new DeleteClosedJobsSweep(new JobsRepository(prisma), { days: 90, storageLifetimeMs: 86_400_000 }),
      new DeleteStoredResponsesSweep(new IdempotencyRepository(prisma)),
      new DeleteExpiredResponsesSweep(new ResponseStatesRepository(prisma)),
      new DeleteExpiredSignaturesSweep(new ExchangeSignaturesRepository(prisma)),
      new DeleteExpiredLinksSweep(new DownloadLinksRepository(prisma)),
      new FoldKeyDaysSweep(new KeyUsageRepository(prisma)),
      new DeleteExpiredSessionsSweep(new ConsoleSessionsRepository(prisma)),
      new DeleteExpiredWindowsSweep(new PostgresLimitStore(prisma, { lengthMs: 60_000, slotMs: 1_000 })),
      new FoldUsageSweep(new UsageFoldRepository(prisma)),
      new DeleteOldInstallationsSweep(new InstallationRepository(prisma)),
    ];
    let found = 0;
    for (const one of sweeps) found += await one.run();
    if (found === 0) return;
  }
}

interface TableSize {
  table: string;
  rows: number;
  bytes: number;
}

async function sizesOf(client: pg.Client): Promise<TableSize[]> {
  const { rows: tables } = await client.query<{ table: string }>(
    `SELECT relname AS table FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`,
  );
  const sizes: TableSize[] = [];
  for (const { table } of tables) {
    const { rows } = await client.query<{ rows: number; bytes: number }>(
      `SELECT count(*)::int AS rows, pg_total_relation_size('public.${table}')::float8 AS bytes FROM "${table}"`,
    );
    sizes.push({ table, ...(rows[0] ?? { rows: 0, bytes: 0 }) });
  }
  return sizes;
}

/**
 * Lets requests finish and their rows be deleted, round after round. Every table has as many rows after the last round as
 * after the first, but for the sums of the time that passed, and takes no more than a few times its space.
 */
export async function expectBoundedTables({ rounds, requests }: { rounds: number; requests: number }): Promise<void> {
  const database = await createMigratedDatabase();
  const prisma = new PrismaService({ url: database.url, poolSize: 4 });
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    const customer = await newRowCustomer(client);
    // Open and young jobs stay as they are.
    await writeFinishedRequests(client, customer, { count: 100, daysAgo: 1 });
    const { rows: kept } = await client.query('SELECT * FROM jobs ORDER BY request_id');
    let first: TableSize[] = [];
    const startedMs = performance.now();
    for (let round = 0; round < rounds; round += 1) {
      await writeFinishedRequests(client, customer, { count: requests, daysAgo: 91 });
      await writeExpiredRows(client, customer, requests / 10);
      // The first sums delete it. No later ones are due while this test runs.
      if (round === 0) await writeOldUsage(client, customer, requests / 10);
      const written = await sizesOf(client);
      await foldUsage(client);
      await sweep(prisma);
      // Vacuums as autovacuum does. The time at which it runs is not part of this test.
      await client.query('VACUUM');
      if (round > 0) continue;
      first = await sizesOf(client);
      expectEveryLife(written, first);
    }
    const quarters = Math.ceil((performance.now() - startedMs) / quarterMs);
    expectBounded(first, await sizesOf(client), quarters * maxSumsPerQuarter);
    expect((await client.query('SELECT * FROM jobs ORDER BY request_id')).rows).toEqual(kept);
    const { chargedNano } = await expectInvariant({ databaseUrl: database.url });
    expect(chargedNano).toBe(BigInt((rounds * requests) / 10 + 10) * 1_000n);
  } finally {
    await client.end();
    await prisma.$disconnect();
    await database.drop();
  }
}

/** Every table has a stated life, and those that are swept had rows to sweep. */
function expectEveryLife(written: readonly TableSize[], swept: readonly TableSize[]): void {
  expect(written.map(({ table }) => table).toSorted()).toEqual(Object.keys(lives).toSorted());
  const left = new Map(swept.map(({ table, rows }) => [table, rows]));
  const untouched = written.filter(({ table, rows }) => {
    const isDeleted = lives[table] === 'swept' || lives[table] === 'summed';
    return isDeleted && rows <= (left.get(table) ?? 0);
  });
  expect(untouched.map(({ table }) => table)).toEqual([]);
}

function expectBounded(first: readonly TableSize[], last: readonly TableSize[], sums: number): void {
  const after = new Map(last.map((size) => [size.table, size]));
  for (const { table, rows, bytes } of first) {
    const life = lives[table];
    if (life === 'archived') continue;
    const now = after.get(table) ?? { rows: -1, bytes: 0 };
    if (life === 'summed') expect(now.rows, table).toBeLessThanOrEqual(rows + sums);
    else expect({ table, rows: now.rows }).toEqual({ table, rows });
    expect({ table, factor: Math.floor(now.bytes / Math.max(bytes, 1_048_576)) }).toEqual({
      table,
      factor: expect.toSatisfy((factor: number) => factor <= 2),
    });
  }
}
