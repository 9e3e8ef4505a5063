import { type DynamicModule, Global, Module } from '@nestjs/common';
import { OnchainStakes, StakeRefresher, StakesService } from '#accounts';
import { LedgerService, LedgerWatch } from '#billing';
import { BillingModule, JobMeter } from '#billing/nest';
import { JobCatalog, JobResultProcessingModule, KnownQueues, RecoveryModule } from '#jobs/nest';
import { catalog, meterJob, modalitiesOf } from '#modalities';
import { ModelRegistryService, noOnlineModels, PlacementPublisher, PlacementRepository } from '#model-registry';
import { PaymentRunner } from '#payments/execution';
import { OpsConfig } from '#platform/config';
import { logReadiness, Readiness } from '#platform/health';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { MigrationCheck } from '#platform/migrations';
import { PlatformModule } from '#platform/nest';
import { PrismaService } from '#platform/prisma';
import { QueueTransport } from '#queue';
import { JobResultsModule } from '#queue/job-results';
import { QueueModule } from '#queue/nest';
import { ArtifactStore } from '#storage';
import { StorageModule } from '#storage/nest';
import { BackgroundTasks } from './background-tasks.js';
import { LedgerVerificationDatabase } from './ledger-verification.database.js';
import { OpsMetrics } from './ops-metrics.js';
import { createPaymentRunner } from './payment-execution.js';

/** How long a query that does not verify the ledger may take, in ms. */
const queryTimeoutMs = 10_000;

const jobCatalog: JobCatalog = {
  definitions: new Map(Object.values(catalog).map((definition) => [definition.modality, definition])),
};

/** Tells the libraries what the modalities know: every kind of job, and what it is charged for. */
@Global()
@Module({
  providers: [
    { provide: JobCatalog, useValue: jobCatalog },
    { provide: JobMeter, useValue: meterJob },
    { provide: KnownQueues, inject: [PrismaService], useFactory: knownQueuesOf },
  ],
  exports: [JobCatalog, JobMeter, KnownQueues],
})
class CatalogModule {}

/** One for each modality of each model in the registry, served or not. */
function knownQueuesOf(prisma: PrismaService): KnownQueues {
  const registry = new ModelRegistryService(prisma, noOnlineModels);
  return {
    list: async () =>
      (await registry.inventory()).flatMap(({ manifest }) =>
        modalitiesOf(manifest).map((modality) => ({ modality, modelId: manifest.id })),
      ),
  };
}

/** The root of ops: job results, sweeps, cleanup, progress, ledger verification and placements. */
@Module({})
export class OpsModule {
  static forRoot(config: OpsConfig, logger: Logger): DynamicModule {
    return {
      module: OpsModule,
      imports: [
        PlatformModule.forRoot({ app: 'ops', config, logger, database: { queryTimeoutMs } }),
        CatalogModule,
        QueueModule.forRootAsync({
          inject: [OpsConfig],
          useFactory: ({ queueUrl: url, namespace, sealKeys }: OpsConfig) => ({
            url,
            namespace,
            sealKeys,
            clientName: 'ops',
            guardsPools: true,
          }),
        }),
        BillingModule,
        StorageModule,
        RecoveryModule,
        JobResultsModule.register({ imports: [JobResultProcessingModule] }),
      ],
      providers: [
        BackgroundTasks,
        OpsMetrics,
        PlacementRepository,
        {
          provide: LedgerVerificationDatabase,
          inject: [OpsConfig],
          useFactory: ({ databaseUrl }: OpsConfig) => new LedgerVerificationDatabase(databaseUrl),
        },
        {
          provide: LedgerWatch,
          inject: [OpsConfig, LedgerService, LedgerVerificationDatabase, Metrics, Logger],
          useFactory: ledgerWatchOf,
        },
        {
          provide: StakeRefresher,
          inject: [OpsConfig, PrismaService, LedgerService, Logger],
          useFactory: stakeRefresherOf,
        },
        {
          provide: PlacementPublisher,
          inject: [PlacementRepository, QueueTransport, Logger],
          useFactory: (repository: PlacementRepository, transport: QueueTransport, logger: Logger) =>
            new PlacementPublisher({
              repository,
              channel: transport.placements,
              heartbeats: () => transport.membership.list(),
              logger,
            }),
        },
        {
          provide: PaymentRunner,
          inject: [OpsConfig, PrismaService, Metrics, Logger],
          useFactory: createPaymentRunner,
        },
        {
          provide: Readiness,
          inject: [PrismaService, MigrationCheck, QueueTransport, ArtifactStore, Logger],
          useFactory: createReadiness,
        },
      ],
    };
  }
}

/** Open reservations are counted at every scrape, which must not wait as long as a verification may. */
function ledgerWatchOf(
  { ledgerVerifyMs: verifyEveryMs }: OpsConfig,
  ledger: LedgerService,
  database: LedgerVerificationDatabase,
  metrics: Metrics,
  logger: Logger,
): LedgerWatch {
  const verifying = new LedgerService(database);
  return new LedgerWatch({
    ledger: { verify: () => verifying.verify(), openReservations: () => ledger.openReservations() },
    metrics,
    logger,
    verifyEveryMs,
  });
}

/** Null without a chain of stakes. */
function stakeRefresherOf(
  { stakeSettings: settings, stakeRefreshMs: refreshMs }: OpsConfig,
  prisma: PrismaService,
  ledger: LedgerService,
  logger: Logger,
): StakeRefresher | null {
  if (settings === null) return null;
  const reader = new OnchainStakes(settings);
  const stakes = new StakesService({ prisma, ledger, terms: settings, reader, allowList: [] });
  return new StakeRefresher({ prisma, stakes, reader, logger, refreshMs });
}

function createReadiness(
  prisma: PrismaService,
  migrations: MigrationCheck,
  transport: QueueTransport,
  artifacts: ArtifactStore,
  logger: Logger,
): Readiness {
  return new Readiness(
    [
      { name: 'database', check: () => prisma.ping() },
      { name: 'migrations', check: () => migrations.check() },
      { name: 'queue', check: () => transport.ping() },
      { name: 'storage', check: () => artifacts.ping(), isPartial: true },
    ],
    logReadiness(logger),
  );
}
