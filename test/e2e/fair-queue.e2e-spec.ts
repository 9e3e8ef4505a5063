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

/** Chats of the first account, all admitted when the other account sends its own. */
const chats = 24;

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
        messages: [{ role: 'user', content: 'Hello [[tokens=4 delay=200]]' }],
      }),
    });
    await response.text();
    expect(response.status).toBe(200);
    return response.headers.get('x-request-id') ?? '';
  }

  it('run the single one of an account before some of those that another one sent earlier', async () => {
    const flood = Array.from({ length: chats }, (_value, index) => chat(platform.inferenceKey, index % 2));
    const admitted = async () => {
      const rows = await platform.query<{ count: number }>('SELECT count(*)::int AS count FROM jobs');
      return rows[0]?.count ?? 0;
    };
    await expect.poll(admitted, { timeout: 30_000, interval: 20 }).toBe(chats);
    const single = await chat(otherKey, 1);
    await Promise.all(flood);
    const runs = (await platform.journal.runs()).toSorted((one, other) => one.beganAtMs - other.beganAtMs);
    const place = runs.findIndex(({ requestId }) => requestId === single);
    expect(place).toBeGreaterThanOrEqual(0);
    // By arrival none would come after it. How few come before it exactly, the conformance suite holds: here the processes
    // take their time to enqueue.
    expect(runs.length - 1 - place).toBeGreaterThanOrEqual(chats / 6);
  });
});
