import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountsService } from '#accounts';
import { LedgerService } from '#billing';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { redisAvailable } from '#test/redis';
import { unboundLimits } from '#test/unbound-limits';

const transports = redisAvailable ? (['redis', 'postgres'] as const) : (['postgres'] as const);

/** Chats of the first account, and how many of them wait when the other account sends its own. */
const chats = 24;
const waiting = 16;

describe.each(transports)('chats of two accounts, with the queue in %s', (transport) => {
  let platform: Platform;
  let otherKey: string;

  beforeAll(async () => {
    platform = await startPlatform({ transport, replicas: { api: 2 }, env: { SLUICE_SLOTS: '1' } });
    const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
    const accounts = new AccountsService(prisma);
    const { id: accountId } = await accounts.createAccount('other');
    await unboundLimits(prisma, accountId);
    await new LedgerService(prisma).credit('grant', { accountId, currency: 'USD', amountNano: nanosPerUsd });
    otherKey = (await accounts.createKey({ accountId, kind: 'INFERENCE' })).key;
    await prisma.$disconnect();
  });
  afterAll(async () => {
    await platform.closedJobs();
    await expectInvariant(platform);
    await platform.stop();
  });

  async function chat(key: string, replica: number): Promise<string> {
    const response = await fetch(`${platform.origins[replica]}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'tiny-llama',
        messages: [{ role: 'user', content: 'Hello [[tokens=4 delay=100]]' }],
      }),
    });
    await response.text();
    expect(response.status).toBe(200);
    return response.headers.get('x-request-id') ?? '';
  }

  it('run the single one of an account before most of those that another one sent earlier', async () => {
    const flood = Array.from({ length: chats }, (_value, index) => chat(platform.inferenceKey, index % 2));
    const queued = async () => {
      const rows = await platform.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM jobs WHERE state = 'queued' AND started_at IS NULL`,
      );
      return rows[0]?.count ?? 0;
    };
    await expect.poll(queued, { timeout: 30_000, interval: 20 }).toBeGreaterThanOrEqual(waiting);
    const single = await chat(otherKey, 1);
    await Promise.all(flood);
    const runs = (await platform.journal.runs()).toSorted((one, other) => one.beganAtMs - other.beganAtMs);
    const place = runs.findIndex(({ requestId }) => requestId === single);
    expect(place).toBeGreaterThanOrEqual(0);
    // One runs, one waits in the host, and one may have the same turn; the rest of those that waited come later.
    expect(runs.length - 1 - place).toBeGreaterThanOrEqual(waiting / 2);
  });
});
