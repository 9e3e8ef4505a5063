import { describe, expect, it } from 'vitest';
import type { EngineRun } from '#test/engine-journal';
import type { Platform, PlatformProcess } from '#test/platform';
import { seededRandom } from '#test/seeded-random';
import { ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually, isQuick, pause } from './fault-scene.js';
import type { FaultSlice } from './fault-slice.js';
import { faultSlices } from './fault-slices.js';
import { ledgerOf } from './job-ledger.js';
import { installMediaModels } from './media-slices.js';

/* F1: a worker is killed while it generates. */

const kills = amount({ full: 10, quick: 1 });
const requestsPerKill = 2;
/** Time for a lock to expire and be detected: up to 20 s with a 10 s lock. */
const resumeAfterLocks = 2;
const workers: PlatformProcess[] = ['worker', 'worker-2'];

/** The worker that currently runs a request. */
function workerOf(platform: Platform, { workerPid }: EngineRun): PlatformProcess | undefined {
  return workers.find((name) => platform.pid(name) === workerPid);
}

/** Tasks of a request: `<request>`, or `<request>.<number>` and `<request>-<number>` if it has several. */
async function tasksOf(platform: Platform, requestId: string): Promise<EngineRun[]> {
  return (await platform.journal.runs()).filter((run) => run.requestId.startsWith(requestId));
}

/** When each worker began the request, in order. A restarted worker counts as another one. */
async function beginningsOf(platform: Platform, requestId: string): Promise<number[]> {
  const beganAtMs = new Map<number, number>();
  for (const { workerPid, beganAtMs: at } of await tasksOf(platform, requestId)) {
    if (!beganAtMs.has(workerPid)) beganAtMs.set(workerPid, at);
  }
  return [...beganAtMs.values()];
}

/** The first task that began after `since`. */
function firstSince(platform: Platform, since: number): Promise<EngineRun> {
  return eventually('a request runs', async () =>
    (await platform.journal.runs()).find(({ beganAtMs }) => beganAtMs >= since),
  );
}

/** Kills the worker of the first of these requests during its work; resolves to the time of the kill. */
async function killInTheMiddle(platform: Platform, waitMs: number): Promise<number> {
  const first = await firstSince(platform, Date.now());
  await pause(waitMs);
  const victim = workerOf(platform, first);
  if (victim === undefined) throw new Error('no worker runs the request');
  const killedAtMs = Date.now();
  await platform.kill(victim);
  await platform.start(victim);
  return killedAtMs;
}

/** One kill: every client gets a complete response, and the jobs of the killed worker restart in time. */
async function surviveKill(platform: Platform, slice: FaultSlice, seed: number): Promise<number> {
  const random = seededRandom(seed);
  const durationMs = 1_500;
  const requests = Array.from({ length: requestsPerKill }, (_, index) =>
    slice.run(platform, { durationMs, text: `Kill ${seed} ${index}` }),
  );
  const all = Promise.all(requests);
  const killedAtMs = await killInTheMiddle(platform, 50 + random() * (durationMs - 300));
  const ended = await all;
  let killed = 0;
  for (const { requestId } of ended) {
    const [, second, third] = await beginningsOf(platform, requestId);
    expect(third).toBeUndefined();
    if (second === undefined) continue;
    killed += 1;
    expect(second - killedAtMs).toBeLessThanOrEqual(resumeAfterLocks * slice.lockMs);
  }
  await platform.closedJobs();
  const ledgerState = await ledgerOf(
    platform,
    ended.map(({ requestId }) => requestId),
  );
  for (const [index, row] of ledgerState.entries()) {
    expect(row).toMatchObject({ state: 'succeeded', charges: 1, reservationState: 'settled' });
    expect(row.chargedNano).toBe(ended[index]?.costNano(row));
  }
  await platform.untilOnline();
  return killed;
}

const scene = { transports: ['redis', 'postgres'], replicas: { worker: 2 }, install: installMediaModels } as const;

describeFault('F1', scene, (running, transport) => {
  // Each trial waits for a lock to expire, so the quick tests kill only chats and, on one transport, images.
  const slices = isQuick ? faultSlices.slice(0, transport === 'postgres' ? 1 : 2) : faultSlices;
  describe.each(slices)('a worker killed with SIGKILL during $name', (slice) => {
    it(`loses no response and duplicates nothing: ${kills} kills`, async () => {
      let killed = 0;
      for (let seed = 1; seed <= kills; seed += 1) killed += await surviveKill(running(), slice, seed);
      expect(killed).toBeGreaterThanOrEqual(kills);
    }, 600_000);
  });

  it('ends its streams with an error frame and charges nothing for them', async () => {
    const platform = running();
    const streams = await Promise.all(
      [1, 2, 3, 4].map((index) =>
        ChatStreamReader.open(platform, { directives: 'tokens=60 delay=50', text: `Stream ${index}` }),
      ),
    );
    await Promise.all(streams.map((stream) => stream.untilTokens(3)));
    const runs = await platform.journal.runs();
    const doomed = runs.findLast(({ requestId }) => requestId === streams[0]?.requestId);
    const victim = doomed && workerOf(platform, doomed);
    if (victim === undefined) throw new Error('no worker runs the stream');
    const victimPid = platform.pid(victim);
    await platform.kill(victim);
    await platform.start(victim);
    await Promise.all(streams.map(({ ended }) => ended));
    await platform.closedJobs(20_000);
    for (const stream of streams) {
      const [ledgerState] = await ledgerOf(platform, [stream.requestId]);
      const mine = runs.findLast(({ requestId }) => requestId === stream.requestId);
      expect(await platform.journal.runsOf(stream.requestId)).toHaveLength(1);
      if (mine?.workerPid === victimPid) {
        expect([stream.isComplete, stream.errorCode]).toEqual([false, 'MODEL_OFFLINE']);
        expect(ledgerState).toMatchObject({ state: 'failed', charges: 0, reservationState: 'released' });
      } else {
        expect([stream.isComplete, stream.tokens]).toEqual([true, 60]);
        expect(ledgerState).toMatchObject({ state: 'succeeded', charges: 1, reservationState: 'settled' });
      }
    }
    await platform.untilOnline();
  }, 120_000);
});
