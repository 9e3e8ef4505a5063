import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveKey } from '#common';
import { isFull, type Transport } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import type { PlatformProcess, PlatformRole } from '#test/platform-options';
import { buildCommit, previousCommit } from '#test/previous-release';
import { redisAvailable } from '#test/redis';
import { eventually } from '../faults/fault-scene.js';
import { ledgerOf } from '../faults/job-ledger.js';
import { countRefusals } from '../faults/malicious-worker.js';
import { ReadyReplicas } from '../faults/ready-replicas.js';
import { startSluice } from './sluice-command.js';

/*
 * Processes of the previous release run on the database of this one, and are replaced one by one while requests come,
 * in every order; then they go back, in the same order (docs/operate/upgrading.md). Every message on the bus is signed,
 * and two of the workers have the credentials of a pool.
 */

const commit = previousCommit();
const requestsPerSecond = 5;
const replicas = { api: 2, worker: 4, ops: 1 };
const names: Readonly<Record<PlatformRole, readonly PlatformProcess[]>> = {
  api: ['api', 'api-2'],
  worker: ['worker', 'worker-2', 'worker-3', 'worker-4'],
  ops: ['ops'],
};
const models = [{ id: 'tiny-llama' }, { id: 'of-the-pool', seed: 2 }];
const pools = { own: { workers: ['worker-3', 'worker-4'] as const, models: ['of-the-pool'] } };
const orders: readonly (readonly PlatformRole[])[] = [
  ['ops', 'api', 'worker'],
  ['worker', 'ops', 'api'],
  ['ops', 'worker', 'api'],
  ['api', 'ops', 'worker'],
  ['api', 'worker', 'ops'],
  ['worker', 'api', 'ops'],
];
/** On Redis two of the orders: workers that are newer than ops and the apis, and workers that are older. */
const transports: readonly { transport: Transport; chosen: typeof orders }[] = [
  { transport: 'postgres', chosen: orders },
  ...(redisAvailable ? [{ transport: 'redis', chosen: isFull ? orders : orders.slice(0, 2) } as const] : []),
];

describe.runIf(commit !== null)('processes of the previous release', () => {
  let folder: string;
  let previous: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-previous-'));
    previous = await buildCommit(commit ?? '', join(folder, 'release'));
  }, 900_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  describe.each(transports)('with the queue on $transport', ({ transport, chosen }) => {
    let platform: Platform;

    beforeAll(async () => {
      // Model hosts of the harness of earlier commits do not import it, and their code is built without its types.
      const env = { SLUICE_RATE_LIMITS: 'false', NODE_OPTIONS: '--import=reflect-metadata' };
      platform = await startPlatform({ transport, replicas, dist: previous, models, pools, env });
    }, 900_000);
    afterAll(() => platform?.stop());

    /** Stops a process, and starts it again from other compiled code; resolves when it does its work. */
    async function replace(name: PlatformProcess, dist?: string): Promise<void> {
      await expectNoRefusals(name);
      expect((await platform.kill(name, 'SIGTERM')).code).toBe(0);
      await platform.start(name, dist);
      await eventually(`${name} is ready`, async () => {
        // Until it has logged its own port, nothing answers at that of the process before it.
        const response = await fetch(`${platform.operationsUrl(name)}/health/ready`).catch(() => null);
        return response?.status === 200;
      });
    }

    /** A process that cannot verify what another version signs counts it. */
    async function expectNoRefusals(name: PlatformProcess): Promise<void> {
      const refused = await countRefusals(platform, 'bus_messages', name);
      expect(Object.keys(refused).length).toBeGreaterThan(0);
      expect(Object.entries(refused).filter(([, count]) => count > 0)).toEqual([]);
    }

    /** What an operator does before: the newer command line refreshes the users of the pools. */
    async function migrate(): Promise<void> {
      const env = {
        DATABASE_URL: platform.databaseUrl,
        ...(transport === 'redis' && { REDIS_URL: platform.redis.url }),
        SLUICE_QUEUE_KEY: deriveKey(platform.secretKey, 'queue payloads').toString('hex'),
        SLUICE_POOLS: `own=${pools.own.models.join(',')}`,
      };
      const { code, stdout, stderr } = await startSluice(['migrate'], { PATH: process.env.PATH, ...env }).finished;
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(stdout).toContain('pool own: ');
    }

    it.each(chosen)(
      'are replaced in the order %s, %s, %s, and go back in it, and no request is lost',
      async (...order) => {
        const balancer = new ReadyReplicas(
          platform,
          models.map(({ id }) => id),
        );
        balancer.start(requestsPerSecond);
        await migrate();
        for (const dist of [undefined, previous]) {
          for (const role of order) {
            for (const name of names[role]) {
              // Previous apis may reset a connection while they stop, so they leave the balancer first, as pods do. Those
              // of this release are stopped while requests come.
              const replica = dist === undefined ? names.api.indexOf(name) : -1;
              if (replica >= 0) await balancer.withdraw(replica);
              await replace(name, dist);
              if (replica >= 0) balancer.readmit(replica);
            }
          }
        }
        const calls = await balancer.stop();
        expect(calls.length).toBeGreaterThan(requestsPerSecond);
        expect(calls.flatMap(({ error }) => error ?? [])).toEqual([]);
        expect([...new Set(calls.map(({ answer }) => answer?.status))]).toEqual([200]);
        await platform.closedJobs(30_000);
        const requestIds = calls.map(({ answer }) => answer?.requestId ?? '');
        for (const ledgerState of await ledgerOf(platform, requestIds)) {
          expect(ledgerState).toMatchObject({ state: 'succeeded', charges: 1 });
        }
        for (const name of Object.values(names).flat()) await expectNoRefusals(name);
        expect(Object.entries(await countRefusals(platform)).filter(([, count]) => count > 0)).toEqual([]);
        await expectInvariant(platform);
      },
      // An order replaces seven processes twice: 65 to 105 s on two busy cores, and much more on busier ones.
      1_800_000,
    );
  });
});
