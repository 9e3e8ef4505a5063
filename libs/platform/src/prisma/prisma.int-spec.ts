import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMigratedDatabase, startPostgres, type TestDatabase } from '#test/postgres';
import { Prisma } from './generated/client.js';
import { PrismaService } from './prisma.service.js';

describe('PrismaService', () => {
  let database: TestDatabase;
  let prisma: PrismaService;

  beforeEach(async () => {
    database = await createMigratedDatabase();
    prisma = new PrismaService({ url: database.url });
  });

  afterEach(async () => {
    await prisma.$disconnect();
    await database.drop();
  });

  it('finds every column of the schema in the migrated database', async () => {
    const names = Object.values(Prisma.ModelName);
    // The system accounts (revenue, promotions, top-ups, allowance) in each of three currencies; of others, one state.
    const fromMigrations: Record<string, number> = { LedgerAccount: 12, PlacementRevision: 1, UsageFolded: 1 };
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      const property = (name.charAt(0).toLowerCase() + name.slice(1)) as Uncapitalize<typeof name>;
      const model = prisma[property] as { findMany(): Promise<object[]> };
      // A query names every column.
      expect(await model.findMany(), name).toHaveLength(fromMigrations[name] ?? 0);
    }
  });
});

describe('PrismaService with a query timeout', () => {
  it('leaves no statement running on the server after a timeout', async () => {
    const database = await createMigratedDatabase();
    const hasty = new PrismaService({ url: database.url, queryTimeoutMs: 300, applicationName: 'sluice-hasty' });
    const patient = new PrismaService({ url: database.url });
    try {
      await expect(hasty.$queryRaw`SELECT 1 AS one FROM pg_sleep(60)`).rejects.toThrow();
      const busy = () => patient.$queryRaw`
        SELECT state FROM pg_stat_activity WHERE application_name = 'sluice-hasty' AND state = 'active'`;
      await expect.poll(busy, { timeout: 20_000 }).toEqual([]);
      expect(await hasty.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    } finally {
      await Promise.all([hasty.$disconnect(), patient.$disconnect()]);
      await database.drop();
    }
  });
});

describe('PrismaService when the server goes down', () => {
  it('fails while the server is down and works when it is back', async () => {
    const server = await startPostgres();
    const prisma = new PrismaService({ url: server.url });
    try {
      await prisma.ping();
      await server.stop();
      await expect(prisma.ping()).rejects.toThrow();
      await server.start();
      await expect
        .poll(
          () =>
            prisma.ping().then(
              () => 'up',
              () => 'down',
            ),
          { timeout: 20_000 },
        )
        .toBe('up');
    } finally {
      await prisma.$disconnect();
      await server.close();
    }
  });
});
