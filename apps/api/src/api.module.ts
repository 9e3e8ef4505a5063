import { type DynamicModule, Global, Module } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { KeyUsageReader, StakeLedger } from '#accounts';
import { AccountsModule } from '#accounts/nest';
import { LedgerService, KeyUsageRepository } from '#billing';
import { BillingModule, JobMeter } from '#billing/nest';
import { AdminModule, ConsoleModule } from '#console';
import { GatewayModule, TextRewriter } from '#gateway';
import { ImageDescriber, InputTranscriber, TextEmbedder } from '#gateway/inputs';
import { ImageClassifier, PromptTexts, TextClassifier } from '#gateway/moderation';
import { meterJob, promptTexts } from '#modalities';
import { EmbeddedTextClassifier, EmbeddingModule, InputTextEmbedder } from '#modalities/embedding/api';
import { ImageModule, InputImageClassifier, InputImageDescriber } from '#modalities/image/api';
import { RecordingTranscriber, TranscriptionModule } from '#modalities/transcription/api';
import { CompatibleNames, OnlineModels, OutputFormats, WebProviders } from '#model-registry';
import { ModelRegistryModule } from '#model-registry/nest';
import { ApiConfig } from '#platform/config';
import { Readiness } from '#platform/health';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { maxConnections } from '#platform/database';
import { PlatformModule } from '#platform/nest';
import { QueueModule } from '#queue/nest';
import { LimitFacts } from '#rate-limit/api';
import { LimitStoreModule } from '#rate-limit/nest';
import { StorageModule } from '#storage/nest';
import { WebModule } from '#web/nest';
import { ApiLifecycle } from './api-lifecycle.js';
import { ApiMetrics, countAffinity } from './api-metrics.js';
import { ApiReadiness } from './api-readiness.js';
import { ChatTextRewriter } from './chat-text-rewriter.js';
import {
  AccountLimitFacts,
  ConfiguredNames,
  ConfiguredWeb,
  MediaFormats,
  TransportOnlineModels,
} from './library-bindings.js';
import { OperationsController } from './operations.controller.js';
import { routeModules } from './route-modules.js';

/** Query timeout of the database, in ms. The connection is dropped after it. */
const queryTimeoutMs = 10_000;

/** Tells libraries what others know, which they may not import: abstract classes and their implementations. */
@Global()
@Module({
  imports: [
    BillingModule,
    AccountsModule,
    ModelRegistryModule,
    GatewayModule,
    EmbeddingModule,
    ImageModule,
    TranscriptionModule,
    WebModule,
    LimitStoreModule,
    StorageModule,
  ],
  providers: [
    { provide: JobMeter, useValue: meterJob },
    { provide: PromptTexts, useValue: { of: promptTexts } satisfies PromptTexts },
    { provide: TextClassifier, useClass: EmbeddedTextClassifier },
    { provide: ImageClassifier, useClass: InputImageClassifier },
    { provide: KeyUsageReader, useExisting: KeyUsageRepository },
    { provide: StakeLedger, useExisting: LedgerService },
    { provide: LimitFacts, useClass: AccountLimitFacts },
    { provide: TextRewriter, useClass: ChatTextRewriter },
    { provide: ImageDescriber, useExisting: InputImageDescriber },
    { provide: InputTranscriber, useExisting: RecordingTranscriber },
    { provide: TextEmbedder, useExisting: InputTextEmbedder },
    { provide: OnlineModels, useClass: TransportOnlineModels },
    { provide: CompatibleNames, useClass: ConfiguredNames },
    { provide: OutputFormats, useClass: MediaFormats },
    { provide: WebProviders, useClass: ConfiguredWeb },
    { provide: Readiness, useClass: ApiReadiness },
  ],
  exports: [
    JobMeter,
    PromptTexts,
    TextClassifier,
    ImageClassifier,
    KeyUsageReader,
    StakeLedger,
    LimitFacts,
    TextRewriter,
    ImageDescriber,
    InputTranscriber,
    TextEmbedder,
    OnlineModels,
    CompatibleNames,
    OutputFormats,
    WebProviders,
    Readiness,
  ],
})
class BindingsModule {}

/** Root module: the operations routes and all routes under the base path. */
@Module({})
export class ApiModule {
  static forRoot(config: ApiConfig, logger: Logger): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        PlatformModule.forRoot({
          app: 'api',
          config,
          logger,
          database: { poolSize: maxConnections.api - 1, queryTimeoutMs },
        }),
        QueueModule.forRootAsync({ inject: [ApiConfig, Metrics], useFactory: transportOptions }),
        BindingsModule,
        ModelRegistryModule,
        ...routeModules,
        ConsoleModule,
        AdminModule,
        RouterModule.register([
          ...routeModules.map((module) => ({ path: 'api/v1', module })),
          { path: 'api/admin/v1', module: AdminModule },
        ]),
      ],
      controllers: config.publicHealth ? [OperationsController] : [],
      providers: [ApiLifecycle, ApiMetrics],
    };
  }
}

function transportOptions({ queueUrl: url, namespace, sealKeys, affinityMs: stickyMs }: ApiConfig, metrics: Metrics) {
  return {
    url,
    namespace,
    sealKeys,
    clientName: 'api',
    ...(stickyMs > 0 && { affinity: { stickyMs, onDecision: countAffinity(metrics) } }),
  };
}
