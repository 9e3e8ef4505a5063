import { Module } from '@nestjs/common';
import { FoldKeyDaysSweep, KeyUsageRepository } from '#billing';
import { OpsConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { PrismaService } from '#platform/prisma';
import { QueueTransport } from '#queue';
import { DeleteExpiredWindowsSweep, LimitStore, PostgresLimitStore } from '#rate-limit';
import { LimitStoreModule } from '#rate-limit/nest';
import { ArtifactStore } from '#storage';
import { StorageModule } from '#storage/nest';
import { AccountTurns } from '../admission/account-turns.js';
import { PayloadCipher } from '../admission/payload-cipher.js';
import { DeleteStoredResponsesSweep } from '../idempotency/delete-stored-responses.sweep.js';
import { IdempotencyRepository } from '../idempotency/idempotency.repository.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { DeleteExpiredLinksSweep } from '../media/downloads/delete-expired-links.sweep.js';
import { DownloadLinksRepository } from '../media/downloads/download-links.repository.js';
import { MediaJobsRepository } from '../media/media-jobs.repository.js';
import { ProgressRecorder } from '../media/progress-recorder.js';
import { DeleteClosedJobsSweep } from '../recovery/delete-closed-jobs.sweep.js';
import { DeleteExpiredArtifactsSweep } from '../recovery/delete-expired-artifacts.sweep.js';
import { ExpireOverdueSweep } from '../recovery/expire-overdue.sweep.js';
import { FailAbandonedSweep } from '../recovery/fail-abandoned.sweep.js';
import { type QueueOfModel, RemoveClosedSweep } from '../recovery/remove-closed.sweep.js';
import { RequeueLostSweep } from '../recovery/requeue-lost.sweep.js';
import { ResultBacklog } from '../recovery/result-backlog.js';
import type { Sweep } from '../recovery/sweep.js';
import { SweepRunner } from '../recovery/sweep-runner.js';
import { DeleteExpiredResponsesSweep } from '../response-states/delete-expired-responses.sweep.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { ResponseStatesRepository } from '../response-states/response-states.repository.js';
import { DeleteExpiredSignaturesSweep } from '../signatures/delete-expired-signatures.sweep.js';
import { ExchangeSignaturesRepository } from '../signatures/exchange-signatures.repository.js';
import { JobCatalog, JobResultProcessingModule } from './job-result-processing.module.js';
import { JobsModule } from './jobs.module.js';

/** After its deadline a row waits this long for the result of a worker that stopped in time, in ms. */
const expireGraceMs = 15_000;

/** The queues of all models, which the process provides. */
export abstract class KnownQueues {
  abstract list(): Promise<readonly QueueOfModel[]>;
}

/** Repairs what was lost: jobs, workers, deadlines. */
export class RepairSweeps extends SweepRunner {}

/** Deletes what has expired: apart from the repairs, since the artifact store may not respond for minutes. */
export class CleanupSweeps extends SweepRunner {}

/** Counts what sweeps find and how often they fail. */
class SweepMetrics {
  private readonly found;
  private readonly failures;

  constructor(metrics: Metrics) {
    this.found = metrics.counter('sluice_sweep_rows_total', 'Rows repaired by a sweep.', ['sweep']);
    this.failures = metrics.counter('sluice_sweep_failures_total', 'Sweeps that failed.', ['sweep']);
  }

  readonly onRun = (sweep: string, count: number | null): void =>
    count === null ? this.failures.inc({ sweep }) : this.found.inc({ sweep }, count);
}

/**
 * The sweeps run on timers of this process and not as BullMQ jobs: they rebuild the queue when its store has lost it, and
 * go on while it is down (docs/decisions/nest-modules.md).
 */
@Module({
  imports: [JobsModule, JobResultProcessingModule, LimitStoreModule, StorageModule],
  providers: [
    { provide: SweepMetrics, inject: [Metrics], useFactory: (metrics: Metrics) => new SweepMetrics(metrics) },
    {
      provide: ResultBacklog,
      inject: [QueueTransport, OpsConfig, Logger],
      useFactory: ({ results }: QueueTransport, config: OpsConfig, logger: Logger) =>
        new ResultBacklog(results, { logger, longestGapMs: longestGapMs(config) }),
    },
    {
      provide: RepairSweeps,
      inject: [
        OpsConfig,
        QueueTransport,
        JobsRepository,
        JobCloser,
        PayloadCipher,
        ResultTickets,
        AccountTurns,
        JobCatalog,
        ResultBacklog,
        KnownQueues,
        Logger,
        SweepMetrics,
      ],
      useFactory: repairSweepsOf,
    },
    {
      provide: CleanupSweeps,
      inject: [
        OpsConfig,
        JobsRepository,
        IdempotencyRepository,
        ResponseStatesRepository,
        ExchangeSignaturesRepository,
        DownloadLinksRepository,
        LimitStore,
        PrismaService,
        ArtifactStore,
        Logger,
        SweepMetrics,
      ],
      useFactory: cleanupSweepsOf,
    },
    {
      provide: ProgressRecorder,
      inject: [MediaJobsRepository, QueueTransport, Logger],
      useFactory: (jobs: MediaJobsRepository, transport: QueueTransport, logger: Logger) =>
        new ProgressRecorder({ jobs, transport, logger }),
    },
  ],
  exports: [JobsModule, RepairSweeps, CleanupSweeps, ResultBacklog, ProgressRecorder],
})
export class RecoveryModule {}

function repairSweepsOf(
  { sweepIntervalMs, lostAfterMs }: OpsConfig,
  transport: QueueTransport,
  jobs: JobsRepository,
  closer: JobCloser,
  cipher: PayloadCipher,
  tickets: ResultTickets,
  turns: AccountTurns,
  { definitions }: JobCatalog,
  backlog: ResultBacklog,
  queues: KnownQueues,
  logger: Logger,
  { onRun }: SweepMetrics,
): RepairSweeps {
  const lookups = { jobs, cipher, tickets, turns, definitions, resultBacklog: () => backlog.flows() };
  const common = { ...lookups, closer, transport, logger };
  const confirmMs = Math.min(sweepIntervalMs, 5_000);
  const { producer } = transport;
  const sweeps = [
    new RequeueLostSweep({ ...common, producer, lostAfterMs, confirmMs }),
    new FailAbandonedSweep(common),
    new ExpireOverdueSweep({ ...common, graceMs: expireGraceMs, confirmMs }),
    new RemoveClosedSweep({ jobs, producer, queues: () => queues.list(), logger, confirmMs }),
  ];
  return new RepairSweeps({ sweeps, intervalMs: sweepIntervalMs, logger, onRun });
}

function cleanupSweepsOf(
  { sweepIntervalMs: intervalMs, jobRetentionDays, storageLifetimeMs }: OpsConfig,
  jobs: JobsRepository,
  idempotency: IdempotencyRepository,
  responses: ResponseStatesRepository,
  signatures: ExchangeSignaturesRepository,
  links: DownloadLinksRepository,
  limits: LimitStore,
  prisma: PrismaService,
  artifacts: ArtifactStore,
  logger: Logger,
  { onRun }: SweepMetrics,
): CleanupSweeps {
  const sweeps: Sweep[] = [
    new DeleteStoredResponsesSweep(idempotency),
    new DeleteExpiredResponsesSweep(responses),
    new DeleteExpiredSignaturesSweep(signatures),
    new DeleteExpiredLinksSweep(links),
    ...(limits instanceof PostgresLimitStore ? [new DeleteExpiredWindowsSweep(limits)] : []),
    new FoldKeyDaysSweep(new KeyUsageRepository(prisma)),
    ...(jobRetentionDays > 0 ? [new DeleteClosedJobsSweep(jobs, { days: jobRetentionDays, storageLifetimeMs })] : []),
    // Last: its store may not respond for minutes.
    new DeleteExpiredArtifactsSweep(artifacts),
  ];
  return new CleanupSweeps({ sweeps, intervalMs, logger, onRun });
}

/** Buckets cover the interval between sweeps, which may be long. */
function longestGapMs({ sweepIntervalMs }: OpsConfig): number {
  return Math.max(10_000, 3 * sweepIntervalMs);
}
