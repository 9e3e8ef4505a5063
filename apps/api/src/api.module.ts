import { type DynamicModule, Global, Module } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { KeyUsageReader } from '#accounts';
import { AccountsModule } from '#accounts/nest';
import { KeyUsageRepository } from '#billing';
import { BillingModule, JobMeter } from '#billing/nest';
import { GatewayModule, InputTranscriber, TextRewriter } from '#gateway';
import { meterJob } from '#modalities';
import { RecordingTranscriber, TranscriptionModule } from '#modalities/transcription/api';
import { MembershipOnlineModels, OnlineModels } from '#model-registry';
import { ModelRegistryModule } from '#model-registry/nest';
import { ApiConfig } from '#platform/config';
import { Readiness } from '#platform/health';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { MigrationCheck } from '#platform/migrations';
import { PlatformModule } from '#platform/nest';
import { PrismaService } from '#platform/prisma';
import { QueueTransport } from '#queue';
import { QueueModule } from '#queue/nest';
import { LimitStore } from '#rate-limit';
import { LimitFacts } from '#rate-limit/api';
import { LimitStoreModule } from '#rate-limit/nest';
import { ArtifactStore } from '#storage';
import { StorageModule } from '#storage/nest';
import { AccountLimitFacts } from './account-limit-facts.js';
import { ApiLifecycle } from './api-lifecycle.js';
import { ApiMetrics, countAffinity } from './api-metrics.js';
import { createReadiness } from './api-readiness.js';
import { ChatTextRewriter } from './chat-text-rewriter.js';
import { OperationsController } from './operations.controller.js';
import { routeModules } from './route-modules.js';

/** Query timeout of the database, in ms. The connection is dropped after it. */
const queryTimeoutMs = 10_000;

/** Tells libraries what others know, which they may not import: abstract classes and their implementations. */
@Global()
@Module({
  imports: [BillingModule, AccountsModule, ModelRegistryModule, GatewayModule, TranscriptionModule],
  providers: [
    { provide: JobMeter, useValue: meterJob },
    { provide: KeyUsageReader, useExisting: KeyUsageRepository },
    { provide: LimitFacts, useClass: AccountLimitFacts },
    { provide: TextRewriter, useClass: ChatTextRewriter },
    { provide: InputTranscriber, useExisting: RecordingTranscriber },
    {
      provide: OnlineModels,
      inject: [QueueTransport],
      useFactory: ({ membership }: QueueTransport) => new MembershipOnlineModels(() => membership.list()),
    },
  ],
  exports: [JobMeter, KeyUsageReader, LimitFacts, TextRewriter, InputTranscriber, OnlineModels],
})
class BindingsModule {}

/** Root module: the operations routes and all routes under the base path. */
@Module({})
export class ApiModule {
  static forRoot(config: ApiConfig, logger: Logger): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        PlatformModule.forRoot({ app: 'api', config, logger, database: { poolSize: 20, queryTimeoutMs } }),
        QueueModule.forRootAsync({ inject: [ApiConfig, Metrics], useFactory: transportOptions }),
        BindingsModule,
        ModelRegistryModule,
        LimitStoreModule,
        StorageModule,
        ...routeModules,
        RouterModule.register(routeModules.map((module) => ({ path: 'api/v1', module }))),
      ],
      controllers: [OperationsController],
      providers: [
        ApiLifecycle,
        ApiMetrics,
        {
          provide: Readiness,
          inject: [ApiConfig, PrismaService, MigrationCheck, QueueTransport, LimitStore, ArtifactStore, Logger],
          useFactory: (
            settings: ApiConfig,
            prisma: PrismaService,
            migrations: MigrationCheck,
            transport: QueueTransport,
            limitStore: LimitStore,
            artifacts: ArtifactStore,
            log: Logger,
          ) => createReadiness(settings, { prisma, migrations, transport, limitStore, artifacts, logger: log }),
        },
      ],
    };
  }
}

function transportOptions({ queueUrl: url, namespace, affinityMs: stickyMs }: ApiConfig, metrics: Metrics) {
  return {
    url,
    namespace,
    clientName: 'api',
    ...(stickyMs > 0 && { affinity: { stickyMs, onDecision: countAffinity(metrics) } }),
  };
}
