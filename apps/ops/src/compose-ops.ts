import { LedgerService, LedgerWatch, MoneyMetrics, SettlementStep } from '#billing';
import {
  correctReservedTokens,
  DeleteExpiredArtifactsSweep,
  DownloadLinksRepository,
  ExpireOverdueSweep,
  type FailAbandonedOptions,
  FailAbandonedSweep,
  DeleteStoredResponsesSweep,
  DeleteExpiredLinksSweep,
  IdempotencyRepository,
  JobCloser,
  JobsRepository,
  MediaClosing,
  MediaJobsRepository,
  ResultBacklog,
  JobResultProcessor,
  PayloadCipher,
  ProgressRecorder,
  RequeueLostSweep,
  type Sweep,
  SweepRunner,
} from '#jobs';
import { catalog, meterJob } from '#modalities';
import { PlacementPublisher, PlacementRepository } from '#model-registry';
import type { OpsConfig } from '#platform/config';
import type { Logger } from '#platform/logging';
import { type Metrics, registerQueueGauges } from '#platform/metrics';
import type { PrismaService } from '#platform/prisma';
import type { JobDefinition, QueueTransport } from '#queue';
import { DeleteExpiredWindowsSweep, type LimitStore, PostgresLimitStore, TokenCorrector } from '#rate-limit';
import type { ArtifactStore } from '#storage';

export interface OpsDependencies {
  config: OpsConfig;
  prisma: PrismaService;
  /** The database for the proof of the books, whose queries may take long. */
  proofs: PrismaService;
  transport: QueueTransport;
  logger: Logger;
  metrics: Metrics;
  artifacts: ArtifactStore;
  limitStore: LimitStore;
}

/** Callers have their answers before their outcomes are written: these can wait for each other for a moment. */
const closingsGatherMs = 10;

/** After its deadline a row waits this long for the outcome of a worker that stopped in time. */
const expireGraceMs = 15_000;

const definitions: ReadonlyMap<string, JobDefinition<object, object>> = new Map(
  Object.values(catalog).map((definition) => [definition.modality, definition]),
);

const asyncModalities: ReadonlySet<string> = new Set(
  [...definitions.values()].filter(({ isAsync }) => isAsync === true).map(({ modality }) => modality),
);

export interface OpsProcesses {
  results: JobResultProcessor;
  sweeps: SweepRunner;
  /** Deletes what has expired: beside the sweeps, since the store of artifacts may be silent for minutes. */
  cleaning: SweepRunner;
  progress: ProgressRecorder;
  ledgerState: LedgerWatch;
  placements: PlacementPublisher;
}

/** What runs in ops: outcomes, sweeps, what deletes, progress, the proof of the books and the keeper of placements. */
export function composeOps(parts: OpsDependencies): OpsProcesses {
  const { config, prisma, transport, logger, metrics, artifacts, limitStore } = parts;
  const jobs = new JobsRepository(prisma);
  const corrector = new TokenCorrector(limitStore, (error) =>
    logger.warn({ error }, 'reserved tokens could not be put right'),
  );
  const mediaJobs = new MediaJobsRepository(prisma);
  const media = new MediaClosing({ jobs: mediaJobs, artifacts, modalities: asyncModalities, logger });
  const settlement = new SettlementStep(meterJob, new MoneyMetrics(metrics));
  const listeners = [correctReservedTokens(corrector), media.afterwards, settlement.afterwards];
  // Money comes last: the accounts are locked from there on.
  const steps = [media, settlement];
  const closer = new JobCloser(jobs, steps, listeners);
  const closed = metrics.counter('sluice_jobs_closed_total', 'Jobs closed, by how they ended.', [
    'modality',
    'model',
    'state',
    'code',
  ]);
  const results = new JobResultProcessor({
    transport,
    closer: new JobCloser(jobs, steps, listeners, { gatherMs: closingsGatherMs }),
    logger,
    onClosed: ({ modality, modelId, state, errorCode }) =>
      closed.inc({ modality, model: modelId, state, code: errorCode ?? '' }),
  });
  const flow = new ResultBacklog(transport.results, { logger, longestGapMs: gapOf(config) });
  registerBacklogGauges(metrics, flow);
  const resultBacklog = () => flow.flows();
  const found = metrics.counter('sluice_sweep_rows_total', 'Rows that a sweep repaired.', ['sweep']);
  const failures = metrics.counter('sluice_sweep_failures_total', 'Sweeps that failed.', ['sweep']);
  const runner = (sweeps: readonly Sweep[]) =>
    new SweepRunner({
      sweeps,
      intervalMs: config.sweepIntervalMs,
      logger,
      onRun: (sweep, count) => (count === null ? failures.inc({ sweep }) : found.inc({ sweep }, count)),
    });
  registerJobGauges(parts, jobs);
  return {
    results,
    sweeps: runner(lostSweeps(parts, { jobs, closer, transport, logger, definitions, resultBacklog })),
    cleaning: runner(cleaningSweeps(parts)),
    progress: new ProgressRecorder({ jobs: mediaJobs, transport, logger }),
    ledgerState: watchLedgers(parts),
    placements: new PlacementPublisher({
      repository: new PlacementRepository(prisma),
      channel: transport.placements,
      heartbeats: () => transport.membership.list(),
      logger,
    }),
  };
}

/** What looks for jobs that were lost. */
function lostSweeps({ config, transport }: OpsDependencies, common: FailAbandonedOptions): Sweep[] {
  const confirmMs = Math.min(config.sweepIntervalMs, 5_000);
  return [
    new RequeueLostSweep({
      ...common,
      producer: transport.producer,
      cipher: new PayloadCipher(config.secretKey),
      lostAfterMs: config.lostAfterMs,
      confirmMs,
    }),
    new FailAbandonedSweep(common),
    new ExpireOverdueSweep({ ...common, graceMs: expireGraceMs, confirmMs }),
  ];
}

/** What deletes. The store that may be silent comes last. */
function cleaningSweeps({ prisma, limitStore, artifacts }: OpsDependencies): Sweep[] {
  return [
    new DeleteStoredResponsesSweep(new IdempotencyRepository(prisma)),
    new DeleteExpiredLinksSweep(new DownloadLinksRepository(prisma)),
    ...(limitStore instanceof PostgresLimitStore ? [new DeleteExpiredWindowsSweep(limitStore)] : []),
    new DeleteExpiredArtifactsSweep(artifacts),
  ];
}

/** Time in which the sweeps could look, where they look rarely. */
function gapOf({ sweepIntervalMs }: OpsConfig): number {
  return Math.max(10_000, 3 * sweepIntervalMs);
}

function registerBacklogGauges(metrics: Metrics, flow: ResultBacklog): void {
  metrics.observedGauge({
    name: 'sluice_job_results_waiting',
    help: 'Batches of outcomes in the queue when the sweeps looked last, up to 1,000 of each kind; the same from every replica.',
    labelNames: [],
    read: (observe) => observe({}, flow.waiting),
  });
  metrics.observedGauge({
    name: 'sluice_job_results_oldest_age_seconds',
    help: 'Time since outcomes are not written as they come, in which sweeps repair nothing for up to 15 minutes; 0: they are.',
    labelNames: [],
    read: (observe) => observe({}, flow.stuckMs / 1_000),
  });
}

/** Open holds are counted at every scrape, which must not wait as long as a proof may. */
function watchLedgers({ config, prisma, proofs, metrics, logger }: OpsDependencies): LedgerWatch {
  const ledger = new LedgerService(prisma);
  const proving = new LedgerService(proofs);
  return new LedgerWatch({
    ledger: { verify: () => proving.verify(), openReservations: () => ledger.openReservations() },
    metrics,
    logger,
    verifyEveryMs: config.ledgerVerifyMs,
  });
}

function registerJobGauges({ transport, metrics }: OpsDependencies, jobs: JobsRepository): void {
  metrics.observedGauge({
    name: 'sluice_jobs_open',
    help: 'Job rows that are open.',
    labelNames: ['modality', 'model', 'state'],
    read: async (observe) => {
      for (const { modality, modelId, state, count } of await jobs.countOpen()) {
        observe({ modality, model: modelId, state }, count);
      }
    },
  });
  metrics.observedGauge({
    name: 'sluice_jobs_oldest_age_seconds',
    help: 'Time since the oldest open row of a state entered the queue.',
    labelNames: ['modality', 'model', 'state'],
    read: async (observe) => {
      for (const { modality, modelId, state, oldestSeconds } of await jobs.countOpen()) {
        observe({ modality, model: modelId, state }, oldestSeconds);
      }
    },
  });
  registerQueueGauges(metrics, async () => {
    const held = transport.membership.list().flatMap((heartbeat) => heartbeat.models);
    const ofHeld = held.flatMap(({ modalities, modelId }) => modalities.map((modality) => ({ modality, modelId })));
    const queues = new Map<string, { modality: string; modelId: string }>();
    for (const { modality, modelId } of [...ofHeld, ...(await jobs.countOpen())]) {
      queues.set(`${modality}.${modelId}`, { modality, modelId });
    }
    return Promise.all(
      [...queues.values()].map(async ({ modality, modelId }) => {
        return { modality, modelId, counts: await transport.producer.counts(modality, modelId) };
      }),
    );
  });
}
