import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole, ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually, pause } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';
import { redisCommand, redisMemory } from './redis-command.js';

/* F5: Redis is at its maxmemory with noeviction. */

/** Longer than the expiry of a lock (10 s) that is not renewed. */
const fullMs = amount({ full: 25_000, quick: 4_000 });
const streamTokens = amount({ full: 150, quick: 50 });
const noticedWithinMs = 3_000;
const healedWithinMs = 5_000;
const refusalWithinMs = 1_000;
/** Filler data, so that a share of the memory exceeds the noise. */
const fillerBytes = 64 * 1_024 * 1_024;

interface ReadyReport {
  status: string;
  checks: Record<string, string>;
  reasons?: Record<string, string>;
}

const processes = ['api', 'worker', 'ops'] as const;

/** What a process says about its stores. */
async function dependencies(platform: Platform, name: (typeof processes)[number]): Promise<[number, ReadyReport]> {
  const response = await fetch(`${platform.operationsUrl(name)}/health/dependencies`);
  return [response.status, (await response.json()) as ReadyReport];
}

/** Streams running when the server fills up. */
async function openStreams(platform: Platform): Promise<ChatStreamReader[]> {
  const streams = await Promise.all(
    [1, 2, 3, 4, 5].map((index) =>
      ChatStreamReader.open(platform, { directives: `tokens=${streamTokens} delay=100`, text: `Stream ${index}` }),
    ),
  );
  await Promise.all(streams.map((stream) => stream.untilTokens(2)));
  return streams;
}

/** Sets maxmemory so that `share` of it is in use; above 1 every write that needs memory fails. */
async function fill(platform: Platform, share: number): Promise<void> {
  await redisCommand(platform.redis, 'SETRANGE', 'ballast', String(fillerBytes), 'x');
  const used = await redisMemory(platform.redis, 'used_memory');
  expect(await redisCommand(platform.redis, 'CONFIG', 'SET', 'maxmemory', String(Math.round(used / share)))).toBe(
    '+OK',
  );
}

/** Api replicas stay reachable for load balancers: whoever asks gets their 503, and not that of a proxy. */
async function expectReachable(platform: Platform): Promise<void> {
  expect((await fetch(`${platform.operationsUrl('api')}/health/ready`)).status).toBe(200);
}

/** Every request is rejected at once, and every process reports why. */
async function expectRejected(platform: Platform, forMs: number): Promise<string[]> {
  const refused: string[] = [];
  const until = Date.now() + forMs;
  while (Date.now() < until) {
    const answer = await askWhole(platform, { directives: 'tokens=3', text: `Knock ${refused.length}` });
    expect([answer.status, answer.errorCode]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(answer.tookMs).toBeLessThanOrEqual(refusalWithinMs + 2_000);
    refused.push(answer.requestId);
    await expectReachable(platform);
    for (const name of processes) {
      const [status, report] = await dependencies(platform, name);
      expect([name, status, report.checks.queue]).toEqual([name, 503, 'unavailable']);
      expect(report.reasons?.queue).toMatch(/^Redis uses \d+ % of its maxmemory/);
    }
    await pause(250);
  }
  return refused;
}

async function expectHealed(platform: Platform): Promise<number> {
  const fromMs = Date.now();
  await redisCommand(platform.redis, 'DEL', 'ballast');
  await eventually('requests are served again', async () => {
    const { status } = await askWhole(platform, { directives: 'tokens=2', text: 'Back' });
    return status === 200;
  });
  await eventually('all reach it', async () => {
    const reports = await Promise.all(processes.map((name) => dependencies(platform, name)));
    return reports.every(([status]) => status === 200);
  });
  return Date.now() - fromMs;
}

async function expectWholeAndPaid(platform: Platform, streams: ChatStreamReader[], refused: string[]): Promise<void> {
  for (const stream of streams)
    expect([stream.errorCode, stream.tokens, stream.isComplete]).toEqual([null, streamTokens, true]);
  await platform.closedJobs(30_000);
  for (const each of await ledgerOf(
    platform,
    streams.map(({ requestId }) => requestId),
  )) {
    expect(each).toMatchObject({ state: 'succeeded', attempt: 1, completionTokens: streamTokens, charges: 1 });
    expect(each.chargedNano).toBe(chatCostNano(each));
  }
  const ran = new Set((await platform.journal.runs()).map(({ requestId }) => requestId));
  expect(refused.filter((requestId) => ran.has(requestId))).toEqual([]);
}

describeFault('F5', {}, (running) => {
  it('with Redis nearly full: new work is rejected, running jobs finish, and it recovers by itself', async () => {
    const platform = running();
    const streams = await openStreams(platform);
    await fill(platform, 0.94);
    await pause(noticedWithinMs);
    const refused = await expectRejected(platform, 1_000);
    // They end while it is full.
    await Promise.all(streams.map(({ ended }) => ended));
    const [status] = await dependencies(platform, 'api');
    expect(status).toBe(503);
    expect(await expectHealed(platform)).toBeLessThanOrEqual(healedWithinMs + 2_000);
    await expectWholeAndPaid(platform, streams, refused);
  }, 120_000);

  it(`${fullMs / 1_000} s without free memory: streams pause, end complete afterwards, and are charged once`, async () => {
    const platform = running();
    const streams = await openStreams(platform);
    await fill(platform, 1.05);
    await pause(noticedWithinMs);
    const refused = await expectRejected(platform, fullMs - noticedWithinMs);
    expect(streams.filter(({ isComplete }) => isComplete)).toEqual([]);
    expect(await expectHealed(platform)).toBeLessThanOrEqual(healedWithinMs + 2_000);
    await Promise.all(streams.map(({ ended }) => ended));
    await expectWholeAndPaid(platform, streams, refused);
  }, 120_000);
});
