import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { transportsFor } from '#test/extent';
import { fundedAccount } from '#test/funded-account';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { unboundLimits } from '#test/unbound-limits';

/** Chats of the first account, all admitted when the other account sends its own. */
const chats = 24;

describe.each(transportsFor('postgres'))('chats of two accounts, with the queue in %s', (transport) => {
  let platform: Platform;
  let otherKey: string;

  beforeAll(async () => {
    platform = await startPlatform({ transport, replicas: { api: 2 }, env: { SLUICE_SLOTS: '2' } });
    const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
    const other = await fundedAccount(prisma, nanosPerUsd);
    await unboundLimits(prisma, other.accountId);
    otherKey = other.key;
    await prisma.$disconnect();
  });
  afterAll(async () => {
    await platform.closedJobs();
    await expectInvariant(platform);
    await platform.stop();
  });

  interface Chat {
    tokens?: number;
    signal?: AbortSignal;
  }

  async function chat(key: string, replica: number, { tokens = 4, signal }: Chat = {}): Promise<string> {
    const response = await fetch(`${platform.origins[replica]}/api/v1/chat/completions`, {
      method: 'POST',
      signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'tiny-llama',
        messages: [{ role: 'user', content: `Hello [[tokens=${tokens} delay=200]]` }],
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

  it('run the single one in a spare slot, although no running one ends', async () => {
    const hangUp = new AbortController();
    const { signal } = hangUp;
    let ended = 0;
    const flood = Array.from({ length: 6 }, (_value, index) =>
      chat(platform.inferenceKey, index % 2, { tokens: 600, signal }).then(
        () => (ended += 1),
        () => undefined,
      ),
    );
    // Two in slots and one beside them in the host; the others wait.
    const waiting = async () => {
      const metrics = await (await fetch(`${platform.origins[0]}/metrics`)).text();
      return Number(/sluice_queue_jobs\{[^}]*model="tiny-llama"[^}]*state="waiting"[^}]*\} (\d+)/.exec(metrics)?.[1]);
    };
    await expect.poll(waiting, { timeout: 30_000, interval: 200 }).toBe(3);
    await chat(otherKey, 1);
    expect(ended).toBe(0);
    hangUp.abort();
    await Promise.all(flood);
  });
});
