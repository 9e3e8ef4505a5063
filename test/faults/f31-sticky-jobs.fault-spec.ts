import { expect, it } from 'vitest';
import type { Platform, PlatformProcess } from '#test/platform';
import { askWhole, type WholeResponse } from './chat-caller.js';
import { amount, describeFault, eventually, pause } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';

/* F31: a worker is killed while sticky jobs wait for it (`SLUICE_AFFINITY_MS`). */

const kills = amount({ full: 10, quick: 1 });
const requestsPerKill = 8;
const stickyMs = 500;
/** On top of the delay: for admission and pickup on a busy machine. */
const slackMs = 2_000;
const workers: PlatformProcess[] = ['worker', 'worker-2'];

function askWithKey(platform: Platform, key: string, text: string): Promise<WholeResponse> {
  return askWhole(platform, { directives: 'tokens=5 delay=5', text, body: { prompt_cache_key: key } });
}

/** The worker that jobs with this key prefer. */
async function workerOf(platform: Platform, key: string): Promise<PlatformProcess> {
  const { requestId } = await askWithKey(platform, key, 'Who are you?');
  const [run] = await platform.journal.runsOf(requestId);
  const name = workers.find((worker) => platform.pid(worker) === run?.workerPid);
  if (name === undefined) throw new Error('no worker ran the request');
  return name;
}

async function metricOf(platform: Platform, name: PlatformProcess, series: RegExp): Promise<number> {
  const text = await (await fetch(`${platform.operationsUrl(name)}/metrics`)).text();
  return Number(series.exec(text)?.[1] ?? 0);
}

const stickyJobs = (platform: Platform) =>
  metricOf(platform, 'api', /^sluice_affinity_decisions_total\{[^}]*decision="sticky"[^}]*\} (\d+)$/m);
const readyWorkers = (platform: Platform) =>
  metricOf(platform, 'api', /^sluice_model_workers\{[^}]*state="ready"[^}]*\} (\d+)$/m);

/** Jobs are sticky again: both workers offer to claim theirs. */
async function untilSticky(platform: Platform): Promise<void> {
  await eventually('both workers are ready', async () => (await readyWorkers(platform)) === 2);
  await eventually('jobs are sticky', async () => {
    const before = await stickyJobs(platform);
    await askWithKey(platform, 'probe', 'Anybody?');
    return (await stickyJobs(platform)) > before;
  });
}

describeFault(
  'F31',
  {
    transports: amount({ full: ['redis', 'postgres'], quick: ['redis'] }),
    replicas: { worker: 2 },
    env: { SLUICE_AFFINITY_MS: String(stickyMs) },
  },
  (running) => {
    it(`killing a worker costs the sticky jobs that wait for it no more than their delay: ${kills} kills`, async () => {
      const platform = running();
      for (let round = 1; round <= kills; round += 1) {
        await untilSticky(platform);
        const key = `key-${round}`;
        const victim = await workerOf(platform, key);
        const before = await stickyJobs(platform);
        // Frozen, so that it takes none before it dies.
        platform.signal(victim, 'SIGSTOP');
        const sentAtMs = Date.now();
        const asked = Array.from({ length: requestsPerKill }, (_, index) =>
          askWithKey(platform, key, `Round ${round}, request ${index}`),
        );
        await pause(100);
        await platform.kill(victim);
        const answers = await Promise.all(asked);
        expect(await stickyJobs(platform)).toBeGreaterThan(before);
        for (const { status, requestId } of answers) {
          expect(status).toBe(200);
          const runs = await platform.journal.runsOf(requestId);
          expect(runs).toHaveLength(1);
          expect((runs[0]?.beganAtMs ?? Infinity) - sentAtMs).toBeLessThanOrEqual(stickyMs + slackMs);
        }
        await platform.closedJobs();
        const ledgerState = await ledgerOf(
          platform,
          answers.map(({ requestId }) => requestId),
        );
        for (const row of ledgerState) {
          expect(row).toMatchObject({ state: 'succeeded', attempt: 1, charges: 1, reservationState: 'settled' });
          expect(row.chargedNano).toBe(chatCostNano(row));
        }
        await platform.start(victim);
      }
    }, 600_000);
  },
);
