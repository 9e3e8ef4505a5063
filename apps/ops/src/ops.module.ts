import { type DynamicModule, Global, Module } from '@nestjs/common';
import { OnchainStakes, StakeRefresher, StakesRepository, StakesService, WalletsRepository } from '#accounts';
import { LedgerService, LedgerVerifier, LedgerWatch } from '#billing';
import { BillingModule, JobMeter } from '#billing/nest';
import { JobCatalog, JobResultProcessingModule, KnownQueues, RecoveryModule } from '#jobs/nest';
import { catalog, meterJob } from '#modalities';
import { ModelRepository, PlacementBroadcast, PlacementPublisher, PlacementRepository } from '#model-registry';
import { InstallationRepository, InstallationRunner } from '#model-registry/installations';
import { TopUpsRepository } from '#payments';
import { PaymentRunner, SentTransactionsRepository, TopUpExecutionRepository } from '#payments/execution';
import { OpsConfig } from '#platform/config';
import { Readiness } from '#platform/health';
import { Logger } from '#platform/logging';
import { PlatformModule } from '#platform/nest';
import { JobResultsModule } from '#queue/job-results';
import { QueueModule } from '#queue/nest';
import { StorageModule } from '#storage/nest';
import { BackgroundTasks } from './background-tasks.js';
import { InstallationRunners } from './installs/installation-runners.js';
import { LedgerVerificationDatabase } from './ledger-verification.database.js';
import { LedgerVerification, RegistryQueues, TransportPlacements } from './library-bindings.js';
import { OpsMetrics } from './ops-metrics.js';
import { OpsReadiness } from './ops-readiness.js';
import { PaymentExecution } from './payment-execution.js';

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
    ModelRepository,
    { provide: KnownQueues, useClass: RegistryQueues },
  ],
  exports: [JobCatalog, JobMeter, KnownQueues, ModelRepository],
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
        InstallationRepository,
        InstallationRunners,
        WalletsRepository,
        TopUpsRepository,
        TopUpExecutionRepository,
        SentTransactionsRepository,
        PaymentExecution,
        LedgerVerificationDatabase,
        { provide: LedgerVerifier, useClass: LedgerVerification },
        LedgerWatch,
        StakesRepository,
        {
          provide: StakeRefresher,
          inject: [OpsConfig, StakesRepository, LedgerService, Logger],
          useFactory: stakeRefresherOf,
        },
        PlacementPublisher,
        { provide: PlacementBroadcast, useClass: TransportPlacements },
        {
          provide: PaymentRunner,
          inject: [PaymentExecution],
          useFactory: (payments: PaymentExecution) => payments.createRunner(),
        },
        {
          provide: InstallationRunner,
          inject: [InstallationRunners],
          useFactory: (installations: InstallationRunners) => installations.create(),
        },
        { provide: Readiness, useClass: OpsReadiness },
      ],
    };
  }
}

/** Null without a chain of stakes. */
function stakeRefresherOf(
  { stakeSettings: settings, stakeRefreshMs: refreshMs }: OpsConfig,
  repository: StakesRepository,
  ledger: LedgerService,
  logger: Logger,
): StakeRefresher | null {
  if (settings === null) return null;
  const reader = new OnchainStakes(settings);
  const stakes = new StakesService({ repository, ledger, terms: settings, reader, allowList: [] });
  return new StakeRefresher({ repository, stakes, reader, logger, refreshMs });
}
