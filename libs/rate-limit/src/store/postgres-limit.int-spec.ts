import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { describeLimitStore, shortWindow } from './limit-store.conformance.js';
import { PostgresLimitStore } from './postgres-limit.repository.js';

describeLimitStore('Postgres', async () => {
  const database = await createMigratedDatabase();
  const clients = [1, 2, 3].map(() => new PrismaService({ url: database.url, poolSize: 8 }));
  return {
    open: (window) => Promise.resolve(clients.map((prisma) => new PostgresLimitStore(prisma, window))),
    close: async () => {
      await Promise.all(clients.map((client) => client.$disconnect()));
      await database.drop();
    },
  };
});

describe('windows in Postgres', () => {
  let database: TestDatabase;
  let prisma: PrismaService;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    prisma = new PrismaService({ url: database.url, poolSize: 8 });
  });
  afterAll(async () => {
    await prisma.$disconnect();
    await database.drop();
  });

  const keys = async () => (await prisma.rateLimitWindow.findMany({ orderBy: { key: 'asc' } })).map(({ key }) => key);

  it('are deleted an hour after their last use, even while others are requested', async () => {
    const store = new PostgresLimitStore(prisma, shortWindow);
    const take = (key: string) =>
      store.take({ guard: 'g', tokens: 1, windows: [{ key, requests: 100_000, tokens: null }] });
    await Promise.all(['old', 'older', 'oldest', 'new'].map(take));
    await prisma.$executeRaw`
      UPDATE rate_limit_windows SET touched_at = now() - interval '61 minutes' WHERE key LIKE 'old%'`;
    expect([await store.forget(2), await store.forget(2), await store.forget(2)]).toEqual([2, 1, 0]);
    expect(await keys()).toEqual(['new']);
    const takes = Array.from({ length: 40 }, () => take('new'));
    const drops = Array.from({ length: 40 }, () => prisma.$executeRaw`DELETE FROM rate_limit_windows`);
    const answers = await Promise.all(takes);
    await Promise.all(drops);
    expect(answers.every(({ granted }) => granted)).toBe(true);
  });

  it('cost one statement, however many of them a request has', async () => {
    const store = new PostgresLimitStore(prisma, shortWindow);
    const windows = ['one', 'two', 'three'].map((key) => ({ key, requests: 10, tokens: 10 }));
    const query = vi.spyOn(pg.Client.prototype, 'query');
    await store.take({ guard: 'g', tokens: 1, windows });
    expect(query).toHaveBeenCalledTimes(1);
    query.mockRestore();
  });

  it('of several kinds are locked in one order: bursts on shared windows never deadlock', async () => {
    const store = new PostgresLimitStore(prisma, shortWindow);
    const window = (key: string) => ({ key, requests: 1_000_000, tokens: 1_000_000 });
    const answers = await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        const names = [`account-${index % 3}`, `key-${index % 5}`, 'all'];
        const answer = await store.take({ guard: 'g', tokens: 2, windows: names.map(window) });
        await store.correct(names, answer.slot, -1);
        return answer;
      }),
    );
    expect(answers.every(({ granted }) => granted)).toBe(true);
  });
});
