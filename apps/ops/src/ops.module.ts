import { type DynamicModule, Global, Module } from '@nestjs/common';
import { OnchainStakes, StakeRefresher, StakesService } from '#accounts';
import { LedgerService, LedgerVerifier, LedgerWatch } from '#billing';
import { BillingModule, JobMeter } from '#billing/nest';
import { JobCatalog, JobResultProcessingModule, KnownQueues, RecoveryModule } from '#jobs/nest';
import { catalog, meterJob } from '#modalities';
import { PlacementBroadcast, PlacementPublisher, PlacementRepository } from '#model-registry';
import { InstallationRunner } from '#model-registry/installations';
import { PaymentRunner } from '#payments/execution';
import { OpsConfig } from '#platform/config';
import { Readiness } from '#platform/health';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { PlatformModule } from '#platform/nest';
import { PrismaService } from '#platform/prisma';
import { JobResultsModule } from '#queue/job-results';
import { QueueModule } from '#queue/nest';
import { StorageModule } from '#storage/nest';
import { BackgroundTasks } from './background-tasks.js';
import { createInstallationRunner } from './installs/create-installation-runner.js';
import { LedgerVerificationDatabase } from './ledger-verification.database.js';
import { LedgerVerification } from './ledger-verification.js';
import { OpsMetrics } from './ops-metrics.js';
import { OpsReadiness } from './ops-readiness.js';
import { createPaymentRunner } from './payment-execution.js';
import { RegistryQueues } from './registry-queues.js';
import { TransportPlacements } from './transport-placements.js';

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
    { provide: KnownQueues, useClass: RegistryQueues },
  ],
  exports: [JobCatalog, JobMeter, KnownQueues],
})
class CatalogModule {}

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
        LedgerVerificationDatabase,
        { provide: LedgerVerifier, useClass: LedgerVerification },
        LedgerWatch,
        {
          provide: StakeRefresher,
          inject: [OpsConfig, PrismaService, LedgerService, Logger],
          useFactory: stakeRefresherOf,
        },
        PlacementPublisher,
        { provide: PlacementBroadcast, useClass: TransportPlacements },
        {
          provide: PaymentRunner,
          inject: [OpsConfig, PrismaService, Metrics, Logger],
          useFactory: createPaymentRunner,
        },
        {
          provide: InstallationRunner,
          inject: [OpsConfig, PrismaService, Logger],
          useFactory: createInstallationRunner,
        },
        { provide: Readiness, useClass: OpsReadiness },
      ],
    };
  }
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
