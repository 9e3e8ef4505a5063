import pg from 'pg';
import { expect } from 'vitest';
import { ConsoleSessionsRepository, DeleteExpiredSessionsSweep } from '#accounts';
import { FoldKeyDaysSweep, KeyUsageRepository } from '#billing';
import { DeleteOldInstallationsSweep, InstallationRepository } from '#model-registry/installations';
import { PrismaService } from '#platform/prisma';
import { newRowCustomer, writeFinishedRequests } from '#test/finished-requests';
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

/** The ledger grows until it is archived (docs/guides/billing.md). */
const growing = new Set(['ledger_transactions', 'ledger_entries']);

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
 * after the first, and takes no more than a few times its space.
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
    for (let round = 0; round < rounds; round += 1) {
      await writeFinishedRequests(client, customer, { count: requests, daysAgo: 91 });
      await sweep(prisma);
      // Vacuums as autovacuum does. The time at which it runs is not part of this test.
      await client.query('VACUUM');
      if (round === 0) first = await sizesOf(client);
    }
    const last = new Map((await sizesOf(client)).map((size) => [size.table, size]));
    for (const { table, rows, bytes } of first) {
      if (growing.has(table)) continue;
      const now = last.get(table);
      expect({ table, rows: now?.rows }).toEqual({ table, rows });
      expect({ table, factor: Math.floor((now?.bytes ?? 0) / Math.max(bytes, 1_048_576)) }).toEqual({
        table,
        factor: expect.toSatisfy((factor: number) => factor <= 2),
      });
    }
    expect((await client.query('SELECT * FROM jobs ORDER BY request_id')).rows).toEqual(kept);
    const { chargedNano } = await expectInvariant({ databaseUrl: database.url });
    expect(chargedNano).toBe(BigInt((rounds * requests) / 10 + 10) * 1_000n);
  } finally {
    await client.end();
    await prisma.$disconnect();
    await database.drop();
  }
}
