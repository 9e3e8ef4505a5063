import { expect, it } from 'vitest';
import { boundedRead } from './bounded-read.js';
import type { PrismaService } from './prisma.service.js';

it('reads for one account twice at once and for all four times, so that requests keep their connections', async () => {
  let open = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const $transaction = async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise<void>((resolve) => ends.push(resolve));
    open -= 1;
  };
  const prisma = { $transaction } as unknown as PrismaService;
  const read = (owner: string | null) => boundedRead(prisma, { owner, timeoutMs: 1_000 }, async () => undefined);
  const greedy = Array.from({ length: 20 }, () => read('greedy'));
  await expect.poll(() => open).toBe(2);
  const others = [read('one'), read('two'), read(null)];
  await expect.poll(() => open).toBe(4);
  let isDone = false;
  const all = Promise.all([...greedy, ...others]).then(() => (isDone = true));
  while (!isDone) {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await all;
  expect(most).toBe(4);
});

it('refuses more of one account than may wait, at once', async () => {
  const prisma = { $transaction: () => new Promise(() => undefined) } as unknown as PrismaService;
  const read = () => boundedRead(prisma, { owner: 'greedy', timeoutMs: 1_000 }, async () => undefined);
  for (let count = 0; count < 34; count += 1) void read().catch(() => undefined);
  await expect(read()).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
});
