import { describe, expect, it } from 'vitest';
import type { LedgerService } from '#billing';
import type { JobsRepository } from '#jobs';
import type { ModelRegistryService } from '#model-registry';
import type { ReadinessReport } from '#platform/health';
import type { Heartbeat, ServedModelState } from '#queue';
import { testDouble } from '#test/test-double';
import { presentAlerts } from './alerts.presenter.js';
import { AlertsService } from './alerts.service.js';

type OpenCount = Awaited<ReturnType<JobsRepository['countOpen']>>[number];

const healthy: ReadinessReport = { status: 'ok', checks: { database: 'ok', queue: 'ok' } };

const model = (fields: Partial<ServedModelState> = {}): ServedModelState => {
  return { modelId: 'tiny', modalities: ['chat'], state: 'ready', slots: 1, running: 0, provider: 'cpu', ...fields };
};

const worker = (models: ServedModelState[], withoutReplica: string[] = []): Heartbeat => ({
  processId: 'worker-1',
  role: 'worker',
  replyAddress: null,
  models,
  worker: {
    pools: ['default'],
    budgets: {},
    withoutReplica: withoutReplica.map((modelId) => ({ modelId, cause: 'failed', reason: 'no file' })),
  },
  alive: true,
});

const open = (fields: Partial<OpenCount> = {}): OpenCount => {
  return { modality: 'chat', modelId: 'tiny', state: 'queued', count: 2, retried: 0, oldestSeconds: 1, ...fields };
};

interface Figures {
  lagMs?: number | null;
  heartbeats?: Heartbeat[];
  memory?: { usedBytes: number; limitBytes: number } | null;
  jobs?: OpenCount[];
  verifiedAgoMs?: number;
  breaks?: Record<string, number>;
  reservations?: { open: number; anyClosed: boolean };
  foldedAgoMs?: number | null;
}

function serviceOf({
  lagMs = 2,
  heartbeats = [worker([model()])],
  memory = null,
  jobs = [],
  verifiedAgoMs = 0,
  breaks = { wrongBalances: 0 },
  reservations = { open: 0, anyClosed: true },
  foldedAgoMs = 900_000,
}: Figures): AlertsService {
  const ledger: Partial<LedgerService> = {
    lastVerification: async () => ({ verifiedAt: new Date(Date.now() - verifiedAgoMs), tookMs: 1, breaks }),
    reservationFlow: async () => reservations,
  };
  const registry = { inventory: async () => [{ manifest: { id: 'tiny' }, disabled: false }] };
  const foldedThrough = async () => (foldedAgoMs === null ? null : new Date(Date.now() - foldedAgoMs));
  return new AlertsService(
    testDouble({ countOpen: async () => jobs }),
    testDouble(ledger),
    testDouble({ foldedThrough }),
    registry as unknown as ModelRegistryService,
    { membership: { lagMs, list: () => heartbeats }, storeMemory: memory },
  );
}

async function shown(figures: Figures, dependencies = healthy): Promise<string[]> {
  const { alerts } = await serviceOf(figures).report(dependencies);
  return alerts.map(({ alert, state, summary }) => `${alert} ${state}: ${summary}`);
}

describe('the alerts that an api judges', () => {
  it('are none for a healthy installation, and for a new one', async () => {
    expect(await shown({ jobs: [open(), open({ state: 'running', oldestSeconds: 9_000 })] })).toEqual([]);
    expect(await shown({ foldedAgoMs: null, lagMs: null })).toEqual([]);
  });

  it.each<[string, Figures, RegExp]>([
    ['a slow bus', { lagMs: 1_001 }, /^SluiceBusSlow pending: Bus messages of the api take 1001 ms/],
    [
      'a full Redis',
      { memory: { usedBytes: 80, limitBytes: 100 } },
      /^SluiceQueueMemoryHigh pending: Redis uses 80 % of its memory/,
    ],
    [
      'a job that waits',
      { jobs: [open({ oldestSeconds: 150 })] },
      /^SluiceJobsWaitLong pending: The oldest job of chat.tiny has waited for 150 s/,
    ],
    ['a job that has waited for long', { jobs: [open({ oldestSeconds: 421 })] }, /^SluiceJobsWaitLong firing/],
    [
      'jobs of a model that is only loading',
      { jobs: [open()], heartbeats: [worker([model({ state: 'loading' })])] },
      /^SluiceModelWithoutWorker pending: Jobs of tiny are open and no worker serves it/,
    ],
    [
      'a model on another provider',
      { heartbeats: [worker([model({ providerNote: 'no GPU' })])] },
      /^SluiceProviderFallback pending: tiny runs on cpu on worker-1: no GPU/,
    ],
    [
      'a model that cannot be loaded',
      { heartbeats: [worker([model()], ['large'])] },
      /^SluiceModelLoadFails pending: The worker worker-1 cannot load large/,
    ],
    [
      'a broken ledger',
      { breaks: { wrongBalances: 2, totalNano: -1 } },
      /^SluiceLedgerBroken firing: The ledger violates an invariant: wrongBalances is 2/,
    ],
    ['an old verification', { verifiedAgoMs: 10_900_000 }, /^SluiceLedgerNotVerified pending/],
    ['a verification that is older', { verifiedAgoMs: 11_800_000 }, /^SluiceLedgerNotVerified firing/],
    [
      'reservations that stay open',
      { reservations: { open: 3, anyClosed: false } },
      /^SluiceReservationsNotClosed pending: 3 reservations are open and none was closed/,
    ],
    ['sums that are late', { foldedAgoMs: 8_200_000 }, /^SluiceUsageNotFolded firing/],
  ])('show %s', async (_what, figures, expected) => {
    expect((await shown(figures))[0]).toMatch(expected);
  });

  it('show a store that is down, with its reason, and say what could not be judged meanwhile', async () => {
    const service = serviceOf({});
    const down = () => Promise.reject(new Error('connection refused'));
    Object.assign(service, { jobs: { countOpen: down }, usage: { foldedThrough: down } });
    const report = await service.report({
      status: 'unavailable',
      checks: { database: 'unavailable', queue: 'ok' },
      reasons: { database: 'No response within 2000 ms.' },
    });
    expect(report.alerts).toMatchObject([
      {
        alert: 'SluiceStoreDown',
        state: 'pending',
        summary: 'The api does not reach its database. No response within 2000 ms.',
      },
    ]);
    expect(report.unknown).toEqual(['SluiceJobsWaitLong', 'SluiceModelWithoutWorker', 'SluiceUsageNotFolded']);
  });

  it('lead to their runbooks, at the address of the documentation where there is one', async () => {
    const report = await serviceOf({ lagMs: 2_000 }).report(healthy);
    const [plain] = presentAlerts(report, undefined).data;
    expect(plain).toMatchObject({
      name: 'SluiceBusSlow',
      severity: 'warning',
      forSeconds: 300,
      runbook: 'docs/runbooks/bus-slow.md',
      runbookUrl: null,
    });
    const [linked] = presentAlerts(report, 'https://docs.example.org/sluice/').data;
    expect(linked?.runbookUrl).toBe('https://docs.example.org/sluice/runbooks/bus-slow.md');
  });
});
