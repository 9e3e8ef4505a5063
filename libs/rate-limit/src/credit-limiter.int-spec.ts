import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { testDouble } from '#test/test-double';
import { CreditLimiter } from './credit-limiter.js';
import { minuteWindow } from './store/limit-window.js';
import { PostgresLimitStore } from './store/postgres-limit.repository.js';

/* Credits and turns of an account, over two replicas. */

const never = new AbortController().signal;

let database: TestDatabase;
let prisma: PrismaService;
let store: PostgresLimitStore;
let replicas: [CreditLimiter, CreditLimiter];
const refused = vi.fn();

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 8 });
  store = new PostgresLimitStore(prisma, minuteWindow);
  const open = () => new CreditLimiter(store, testDouble({ rateLimits: true }), testDouble({ count: refused }));
  replicas = [open(), open()];
});
afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

describe('the credits of an account', () => {
  it('are never exceeded by requests at once, and what was not used is given back', async () => {
    const accountId = randomUUID();
    const take = (index: number) => replicas[index % 2 === 0 ? 0 : 1].take({ accountId, credits: 30, limit: 100 });
    const decisions = await Promise.all(Array.from({ length: 8 }, (_, index) => take(index)));
    const granted = decisions.filter(({ refusal }) => refusal === null);
    expect(granted).toHaveLength(3);
    const { error, reached } = decisions.find(({ refusal }) => refusal !== null)?.refusal ?? {};
    expect(error).toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      message: expect.stringContaining('100 credits in 24 hours'),
    });
    expect(reached).toMatchObject({ limit: 100, remaining: 10 });
    const inSeconds = (reached?.resetSeconds ?? 0) - Date.now() / 1_000;
    expect(inSeconds).toBeGreaterThan(86_000);
    expect(inSeconds).toBeLessThan(90_000);
    expect(refused).toHaveBeenCalledWith('user_credits');
    for (const { settle } of granted) await settle(5);
    expect((await take(0)).refusal).toBeNull();
    expect((await replicas[0].take({ accountId, credits: 101, limit: 100 })).refusal?.error.retry).toBe('never');
  });

  it('are kept for a day, while windows of a minute are deleted after an hour', async () => {
    const accountId = randomUUID();
    await replicas[0].take({ accountId, credits: 80, limit: 100 });
    await store.take({ guard: 'g', tokens: 0, windows: [{ key: 'minute', requests: 1, tokens: null }] });
    await prisma.$executeRaw`UPDATE rate_limit_windows SET touched_at = now() - interval '3 hours'`;
    await store.forget(100);
    const keys = (await prisma.rateLimitWindow.findMany()).map(({ key }) => key);
    expect(keys).toContain(`day:credits:${accountId}`);
    expect(keys).not.toContain('minute');
    expect((await replicas[1].take({ accountId, credits: 80, limit: 100 })).refusal).not.toBeNull();
    await prisma.$executeRaw`UPDATE rate_limit_windows SET touched_at = now() - interval '27 hours'`;
    await store.forget(100);
    expect(await prisma.rateLimitWindow.count()).toBe(0);
  });
});

describe('the turns of an account', () => {
  it('are taken one after the other, over all replicas', async () => {
    const accountId = randomUUID();
    let running = 0;
    let most = 0;
    const run = async (index: number): Promise<void> => {
      const leave = await replicas[index % 2 === 0 ? 0 : 1].lock({ accountId, limit: 2 }, never);
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running -= 1;
      leave();
    };
    await Promise.all(Array.from({ length: 8 }, (_, index) => run(index)));
    expect(most).toBe(2);
  });

  it('are refused after a while, and end with their client', async () => {
    const turn = { accountId: randomUUID(), limit: 1 };
    const leave = await replicas[0].lock(turn, never);
    const client = new AbortController();
    const gone = replicas[1].lock(turn, client.signal);
    client.abort(new Error('gone'));
    await expect(gone).rejects.toThrow('gone');
    await expect(replicas[1].lock(turn, never)).rejects.toMatchObject({ code: 'CONCURRENCY_LIMIT_EXCEEDED' });
    leave();
    (await replicas[1].lock(turn, never))();
  }, 20_000);
});
