import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole, ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually, pause } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';

/* F6: PostgreSQL is down for half a minute. */

const downMs = amount({ full: 30_000, quick: 12_000 });
const recoveryWithinMs = 5_000;
const streamTokens = 100;

/** The replica stays reachable, and what needs no store is served: with a key, and without one. */
async function expectReachable(platform: Platform): Promise<void> {
  expect((await fetch(`${platform.operationsUrl('api')}/health/ready`)).status).toBe(200);
  expect((await fetch(`${platform.operationsUrl('api')}/health/dependencies`)).status).toBe(503);
  for (const headers of [undefined, { authorization: `Bearer ${platform.inferenceKey}` }]) {
    const response = await fetch(`${platform.baseUrl}/models`, { headers });
    expect(response.status).toBe(200);
    expect(((await response.json()) as { data: object[] }).data.length).toBeGreaterThan(0);
  }
}

/** Requests during the outage; all must get a 503. */
async function sendProbe(platform: Platform, forMs: number): Promise<string[]> {
  const until = Date.now() + forMs;
  const refused: string[] = [];
  while (Date.now() < until) {
    const answer = await askWhole(platform, { directives: 'tokens=3', text: `Knock ${refused.length}` });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    refused.push(answer.requestId);
    await pause(200);
  }
  await expectReachable(platform);
  return refused;
}

async function isServed(platform: Platform): Promise<boolean> {
  const { status } = await askWhole(platform, { directives: 'tokens=2', text: 'Back' });
  return status === 200;
}

/** Streams running when the server stops; resolves at the end of the outage. */
async function outage(platform: Platform): Promise<{ streams: ChatStreamReader[]; refused: string[] }> {
  expect(await isServed(platform)).toBe(true);
  const streams = await Promise.all(
    [1, 2, 3, 4, 5].map((index) =>
      ChatStreamReader.open(platform, { directives: `tokens=${streamTokens} delay=60`, text: `Stream ${index}` }),
    ),
  );
  await Promise.all(streams.map((stream) => stream.untilTokens(2)));
  await platform.postgres.stop({ signal: 'SIGQUIT' });
  return { streams, refused: await sendProbe(platform, downMs) };
}

async function recover(platform: Platform): Promise<void> {
  await platform.postgres.start();
  const backAtMs = Date.now();
  await eventually('requests are served again', () => isServed(platform));
  expect(Date.now() - backAtMs).toBeLessThanOrEqual(recoveryWithinMs);
}

/** All generated output is charged once; rejected requests did not run. */
async function expectLedger(platform: Platform, streams: ChatStreamReader[], refused: string[]): Promise<void> {
  await platform.closedJobs(20_000);
  const requestIds = streams.map(({ requestId }) => requestId);
  for (const each of await ledgerOf(platform, requestIds)) {
    expect(each).toMatchObject({ state: 'succeeded', completionTokens: streamTokens, charges: 1 });
    expect(each.chargedNano).toBe(chatCostNano(each));
  }
  const ran = new Set((await platform.journal.runs()).map(({ requestId }) => requestId));
  expect(refused.filter((requestId) => ran.has(requestId))).toEqual([]);
}

describeFault('F6', { ownPostgres: true }, (running) => {
  it(`${downMs / 1_000} s without PostgreSQL: running streams end complete and are settled afterwards, nothing else starts`, async () => {
    const platform = running();
    const { streams, refused } = await outage(platform);
    // They continued during the outage.
    await Promise.all(streams.map(({ ended }) => ended));
    for (const stream of streams) expect([stream.errorCode, stream.tokens]).toEqual([null, streamTokens]);
    await recover(platform);
    await expectLedger(platform, streams, refused);
  }, 180_000);
});

describeFault('F6', { ownPostgres: true, transports: ['postgres'] }, (running) => {
  it(`${downMs / 1_000} s without PostgreSQL: streams pause, end complete afterwards, and are settled; nothing else starts`, async () => {
    const platform = running();
    const { streams, refused } = await outage(platform);
    await recover(platform);
    await Promise.all(streams.map(({ ended }) => ended));
    for (const stream of streams) expect([stream.errorCode, stream.tokens]).toEqual([null, streamTokens]);
    await expectLedger(platform, streams, refused);
  }, 180_000);
});
