import { expect, it } from 'vitest';
import type { Platform, PlatformRole, WiredStore } from '#test/platform';
import type { ProxyFault } from '#test/tcp-proxy';
import { askWhole, ChatStreamReader, type WholeResponse } from './chat-caller.js';
import { amount, describeFault, eventually, isQuick, pause } from './fault-scene.js';
import { ledgerOf, chatCostNano, type JobLedger } from './job-ledger.js';

/* F29: the connection between one kind of process and one store is slow, half-open, or reset. */

/** Longer than the deadline of a request, so that some run entirely while the connection is broken. */
const brokenMs = amount({ full: 12_000, quick: 4_000 });
const healedWithinMs = 12_000;
const probeIntervalMs = 500;

/** Deadline of a request. */
const deadlineMs = 8_000;
/** Store budget of a request until it is admitted. */
const storeMs = 5_000;
const toleranceMs = 1_000;

const faults: Record<string, ProxyFault> = {
  '2 s of latency': { latencyMs: 1_000 },
  'half-open connections': { isHalfOpen: true },
  resets: { isReset: true },
};

interface Case {
  role: PlatformRole;
  store: WiredStore;
  fault: string;
  /** The metric that must change, and its process. */
  metric: RegExp;
}

const down = (store: WiredStore) => new RegExp(`^sluice_dependency_up\\{dependency="${store}"[^}]*\\} 0$`, 'm');
const failures = /^sluice_queue_call_failures_total\{[^}]*\} [1-9]/m;

const wires = [
  ['api', 'queue'],
  ['api', 'database'],
  ['worker', 'queue'],
  ['ops', 'queue'],
  ['ops', 'database'],
] as const;

const everything: Case[] = wires.flatMap(([role, store]) =>
  Object.keys(faults).map((fault) => ({ role, store, fault, metric: store === 'queue' ? failures : down(store) })),
);

/** One case per store for `.ci/run`. */
const quick = everything.filter(
  ({ role, store, fault }) =>
    (role === 'api' && store === 'database' && fault === 'half-open connections') ||
    (role === 'worker' && fault === 'half-open connections'),
);

const cases = isQuick ? quick : everything;

/** Concurrent requests at a fixed rate while something is broken. */
async function sendProbe(platform: Platform, forMs: number): Promise<Promise<WholeResponse>[]> {
  const answers: Promise<WholeResponse>[] = [];
  const until = Date.now() + forMs;
  while (Date.now() < until) {
    answers.push(askWhole(platform, { directives: 'tokens=3 delay=20', text: `Knock ${answers.length}` }));
    await pause(probeIntervalMs);
  }
  return answers;
}

async function metricsOf(platform: Platform, role: PlatformRole): Promise<string> {
  return await (await fetch(`${platform.operationsUrl(role)}/metrics`)).text();
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

function expectConsistent(ledgerState: JobLedger): void {
  expect(ledgerState.charges).toBe(ledgerState.reservationState === 'settled' ? 1 : 0);
  if (ledgerState.charges === 1) expect(ledgerState.chargedNano).toBe(chatCostNano(ledgerState));
}

const env = {
  SLUICE_SLOTS: '64',
  SLUICE_CHAT_DEADLINE_MS: String(deadlineMs),
  SLUICE_STORE_TIMEOUT_MS: String(storeMs),
  SLUICE_PICKUP_TIMEOUT_MS: '5000',
  SLUICE_SWEEP_INTERVAL_MS: '1000',
};

describeFault('F29', { ownPostgres: true, wires: true, env }, (running) => {
  for (const { role, store, fault, metric } of cases) {
    it(`${role} and ${store} with ${fault}: nothing hangs, the metrics show it, and it recovers`, async () => {
      const platform = running();
      const wire = platform.wire(role, store);
      const stream = await ChatStreamReader.open(platform, { directives: 'tokens=60 delay=50', text: 'Before' });
      await stream.untilTokens(1);
      wire.break(faults[fault] ?? {});
      const pending = await sendProbe(platform, brokenMs);
      await eventually('the metrics change', async () => metric.test(await metricsOf(platform, role)), 15_000);
      wire.restore();
      await eventually(
        'requests are served again',
        async () => (await askWhole(platform, { directives: 'tokens=2', text: 'Back' })).status === 200,
        healedWithinMs,
      );
      const answers = await Promise.all(pending);
      await stream.ended;
      const slowestMs = Math.max(...answers.map(({ tookMs }) => tookMs));
      process.stdout.write(
        `F29: ${role} and ${store} with ${fault}: the slowest response took ${seconds(slowestMs)} s\n`,
      );
      for (const { status, errorCode, tookMs } of answers) {
        const isRejected = status === 503 && role === 'api' && store === 'database';
        expect(tookMs).toBeLessThanOrEqual((isRejected ? storeMs : deadlineMs) + toleranceMs);
        expect([200, 503, 504], `${errorCode}`).toContain(status);
        if (status === 503) expect(['SERVICE_UNAVAILABLE', 'MODEL_OFFLINE', 'MODEL_AT_CAPACITY']).toContain(errorCode);
      }
      // A started response ends complete or with an error.
      expect(stream.isComplete).toBe(stream.errorCode === null);
      await platform.closedJobs(30_000);
      const ids = answers.filter(({ status }) => status === 200).map(({ requestId }) => requestId);
      for (const ledgerState of await ledgerOf(platform, [stream.requestId, ...ids])) expectConsistent(ledgerState);
    }, 120_000);
  }
});
