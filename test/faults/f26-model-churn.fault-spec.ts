import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import {
  ModelRegistryService,
  ModelRepository,
  noOnlineModels,
  PlacementRepository,
  PlacementService,
} from '#model-registry';
import { PrismaService } from '#platform/prisma';
import { deterministicManifest, installDeterministicModel, removeDeterministicModel } from '#test/deterministic-model';
import type { Platform } from '#test/platform';
import { ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';

/* F26: models are removed and added, as files and as placements, while clients stream from them. */

const cycles = amount({ full: 100, quick: 4 });
/** Memory growth of the worker over the second half of the cycles. */
const maxDrift = 0.02;
const model = 'passing';
const pool = 'churn';
const manifest = deterministicManifest(model, {
  pricing: { input: { usd: 0.1, diem: 0.1 }, output: { usd: 0.2, diem: 0.2 } },
});

async function install(home: string) {
  await installDeterministicModel(home, manifest);
  return [manifest];
}

async function isOnline(platform: Platform): Promise<boolean> {
  const response = await fetch(`${platform.baseUrl}/models?type=all`);
  const { data } = (await response.json()) as { data: { id: string; model_spec: { offline: boolean } }[] };
  return data.some(({ id, model_spec: spec }) => id === model && !spec.offline);
}

/** In kB. */
async function residentMemory(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** The minimum: memory after garbage collection. */
function min(values: readonly number[]): number {
  return Math.min(...values);
}

const env = { SLUICE_POOL: pool };

describeFault('F26', { transports: ['redis'], install, unnamed: [model], env }, (running) => {
  it(`lets streams of an unloaded model finish, and leaks nothing: ${cycles} times`, async () => {
    const platform = running();
    const memory: number[] = [];
    const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
    const placements = new PlacementService(
      new PlacementRepository(prisma),
      new ModelRegistryService(new ModelRepository(prisma), noOnlineModels),
    );
    const placement = { modelId: model, pool, pinned: false, replicas: null };
    await placements.place(placement);
    for (let cycle = 1; cycle <= cycles; cycle += 1) {
      await eventually('the model is online', async () => await isOnline(platform));
      const directives = 'tokens=30 delay=20';
      const stream = await ChatStreamReader.open(platform, { directives, model, text: `Cycle ${cycle}` });
      await stream.untilTokens(2);
      const hostPid = platform.hostPid(model);
      const isByFiles = cycle % 2 === 0;
      if (isByFiles) await removeDeterministicModel(platform.home, model);
      else await placements.unplace(model, pool);
      await stream.ended;
      expect([stream.isComplete, stream.tokens, stream.errorCode]).toEqual([true, 30, null]);
      await eventually('the host has exited', async () => await hasEnded(hostPid));
      await eventually('the model is offline', async () => !(await isOnline(platform)));
      await platform.closedJobs();
      const [ledgerState] = await ledgerOf(platform, [stream.requestId]);
      expect(ledgerState).toMatchObject({ state: 'succeeded', charges: 1, reservationState: 'settled' });
      if (ledgerState !== undefined) expect(ledgerState.chargedNano).toBe(chatCostNano(ledgerState));
      memory.push(await residentMemory(platform.pid('worker')));
      if (isByFiles) await installDeterministicModel(platform.home, manifest);
      else await placements.place(placement);
    }
    await eventually('the model is online', async () => await isOnline(platform));
    await prisma.$disconnect();
    const quarter = Math.floor(cycles / 4);
    const drift = min(memory.slice(-quarter)) / min(memory.slice(2 * quarter, 3 * quarter)) - 1;
    process.stdout.write(`memory of the worker in MB: ${memory.map((kB) => Math.round(kB / 1024)).join(' ')}\n`);
    // The first cycles fill caches; a few are no trend.
    if (cycles >= 40) expect(drift).toBeLessThanOrEqual(maxDrift);
  }, 1_800_000);
});

async function hasEnded(pid: number): Promise<boolean> {
  return await readFile(`/proc/${pid}/status`, 'utf8').then(
    (status) => /^State:\s+Z/m.test(status),
    () => true,
  );
}
