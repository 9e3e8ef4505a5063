import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import type { PlatformProcess, PlatformRole } from '#test/platform-options';
import { buildCommit, previousCommit } from '#test/previous-release';
import { eventually } from '../faults/fault-scene.js';
import { ledgerOf } from '../faults/job-ledger.js';
import { ReadyReplicas } from '../faults/ready-replicas.js';

/*
 * Processes of the previous release run on the database of this one, and are replaced one by one while requests come,
 * in every order; then they go back, in the same order (docs/operate/upgrading.md).
 */

const commit = previousCommit();
const requestsPerSecond = 5;
const replicas = { api: 2, worker: 2, ops: 1 };
const names: Readonly<Record<PlatformRole, readonly PlatformProcess[]>> = {
  api: ['api', 'api-2'],
  worker: ['worker', 'worker-2'],
  ops: ['ops'],
};
const orders: readonly (readonly PlatformRole[])[] = [
  ['ops', 'api', 'worker'],
  ['ops', 'worker', 'api'],
  ['api', 'ops', 'worker'],
  ['api', 'worker', 'ops'],
  ['worker', 'ops', 'api'],
  ['worker', 'api', 'ops'],
];

describe.runIf(commit !== null)('processes of the previous release', () => {
  let folder: string;
  let previous: string;
  let platform: Platform;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-previous-'));
    previous = await buildCommit(commit ?? '', join(folder, 'release'));
    platform = await startPlatform({ replicas, dist: previous, env: { SLUICE_RATE_LIMITS: 'false' } });
  }, 900_000);
  afterAll(async () => {
    await platform?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Stops a process, and starts it again from other compiled code; resolves when it does its work. */
  async function replace(name: PlatformProcess, dist?: string): Promise<void> {
    expect((await platform.kill(name, 'SIGTERM')).code).toBe(0);
    await platform.start(name, dist);
    await eventually(`${name} is ready`, async () => {
      // Until it has logged its own port, nothing answers at that of the process before it.
      const response = await fetch(`${platform.operationsUrl(name)}/health/ready`).catch(() => null);
      return response?.status === 200;
    });
  }

  it.each(orders)(
    'are replaced in the order %s, %s, %s, and go back in it, and no request is lost',
    async (...order) => {
      const balancer = new ReadyReplicas(platform);
      balancer.start(requestsPerSecond);
      for (const dist of [undefined, previous]) {
        for (const role of order) {
          for (const name of names[role]) await replace(name, dist);
        }
      }
      const calls = await balancer.stop();
      expect(calls.length).toBeGreaterThan(requestsPerSecond);
      expect(calls.filter(({ answer }) => answer === null)).toEqual([]);
      expect([...new Set(calls.map(({ answer }) => answer?.status))]).toEqual([200]);
      await platform.closedJobs(30_000);
      const requestIds = calls.map(({ answer }) => answer?.requestId ?? '');
      for (const ledgerState of await ledgerOf(platform, requestIds)) {
        expect(ledgerState).toMatchObject({ state: 'succeeded', charges: 1 });
      }
      await expectInvariant(platform);
    },
  );
});
