import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually, isQuick } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';
import { ReadyReplicas } from './ready-replicas.js';

/* F9: API replicas are stopped one after another while they stream, as in a rollout. */

const streamCount = amount({ full: 100, quick: 12 });
const graceMs = amount({ full: 12_000, quick: 3_000 });
const streamTokens = amount({ full: 80, quick: 15 });
const requestsPerSecond = 10;
const replicas = [
  [0, 'api'],
  [1, 'api-2'],
] as const;
/** A start takes seconds, so `.ci/run` restarts only one of them. */
const rolled = isQuick ? replicas.slice(1) : replicas;
const roomy = { contextLength: 100_000, maxCompletionTokens: 100_000 };
const env = { SLUICE_SLOTS: '256', SLUICE_SHUTDOWN_GRACE_MS: String(graceMs) };
const models = [{ id: 'tiny-llama', manifest: roomy }];

function openStreams(platform: Platform, { replica, tokens }: { replica: number; tokens: number }) {
  const requests = Array.from({ length: streamCount }, (_, index) => `Stream ${index} of ${replica} with ${tokens}`);
  const directives = `tokens=${tokens} delay=100`;
  return Promise.all(requests.map((text) => ChatStreamReader.open(platform, { directives, text, replica })));
}

describeFault('F9', { replicas: { api: 2 }, env, models }, (running) => {
  it(`a rollout of ${rolled.length} replicas with ${streamCount} streams each: all end complete, and no new request is lost`, async () => {
    const platform = running();
    const balancer = new ReadyReplicas(platform);
    balancer.start(requestsPerSecond);
    const requestIds: string[] = [];
    for (const [replica, name] of rolled) {
      const streams = await openStreams(platform, { replica, tokens: streamTokens });
      await Promise.all(streams.map((stream) => stream.untilTokens(1)));
      const { code } = await platform.kill(name, 'SIGTERM');
      expect(code).toBe(0);
      await Promise.all(streams.map(({ ended }) => ended));
      for (const { errorCode, tokens, isComplete } of streams) {
        expect([errorCode, tokens, isComplete]).toEqual([null, streamTokens, true]);
      }
      requestIds.push(...streams.map((stream) => stream.requestId));
      await platform.start(name);
    }
    const calls = await balancer.stop();
    expect(calls.length).toBeGreaterThan(requestsPerSecond);
    expect(calls.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect(new Set(calls.map(({ answer }) => answer?.status))).toEqual(new Set([200]));
    await platform.closedJobs(20_000);
    for (const ledgerState of await ledgerOf(platform, requestIds)) {
      expect(ledgerState).toMatchObject({ state: 'succeeded', completionTokens: streamTokens, charges: 1 });
    }
  }, 180_000);

  it(`${streamCount} streams that exceed the grace period end with an error event and are charged for what they got`, async () => {
    const platform = running();
    const streams = await openStreams(platform, { replica: 1, tokens: 2_000 });
    await Promise.all(streams.map((stream) => stream.untilTokens(1)));
    const publishedAtMs = Date.now();
    const { code } = await platform.kill('api-2', 'SIGTERM');
    expect(code).toBe(0);
    expect(Date.now() - publishedAtMs).toBeGreaterThanOrEqual(graceMs);
    await Promise.all(streams.map(({ ended }) => ended));
    for (const { errorCode, isComplete } of streams) {
      expect([errorCode, isComplete]).toEqual(['SERVICE_UNAVAILABLE', false]);
    }
    const runs = await eventually('every generation has stopped', async () => {
      const all = await platform.journal.runs();
      const ours = all.filter(({ requestId }) => streams.some((stream) => stream.requestId === requestId));
      return ours.every(({ endedAtMs }) => endedAtMs !== null) && ours;
    });
    const generated = new Map(runs.map(({ requestId, tokens }) => [requestId, tokens]));
    await platform.closedJobs(20_000);
    const requestIds = streams.map(({ requestId }) => requestId);
    for (const ledgerState of await ledgerOf(platform, requestIds)) {
      expect(ledgerState).toMatchObject({ state: 'cancelled', charges: 1, reservationState: 'settled' });
      expect(ledgerState.completionTokens).toBe(generated.get(ledgerState.requestId));
      expect(ledgerState.chargedNano).toBe(chatCostNano(ledgerState));
    }
  }, 180_000);
});
