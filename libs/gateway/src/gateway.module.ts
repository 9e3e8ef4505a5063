import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccountsModule } from '#accounts/nest';
import { BillingModule } from '#billing/nest';
import { EgressModule } from '#egress/nest';
import { RequestBudgets } from '#jobs';
import { AdmissionModule } from '#jobs/nest';
import { MediaModule } from '#media/nest';
import { ModelRegistryModule } from '#model-registry/nest';
import { ApiConfig } from '#platform/config';
import { QueueTransport } from '#queue';
import { RateLimitModule } from '#rate-limit/nest';
import { StorageModule } from '#storage/nest';
import { AccessGuard } from './access/access.guard.js';
import { ErrorFilter } from './errors/error.filter.js';
import { RouteTable } from './errors/route-table.js';
import { RequestHooks } from './http/request-hooks.js';
import { IdempotencyInterceptor } from './idempotency/idempotency.interceptor.js';
import { ReplayLimit } from './limits/replay-limit.js';
import { AudioRelays } from './media/audio-relays.js';
import { DownloadUrls } from './media/download-urls.js';
import { DownloadController } from './media/download.controller.js';
import { MediaArtifacts } from './media/media-artifacts.js';
import { QueuedMedia } from './media/queued-media.js';
import { Drain } from './pipeline/drain.js';
import { JobRunner } from './pipeline/job-runner.js';
import { ModelAvailabilityWatcher } from './pipeline/model-availability-watcher.js';
import { ModelResolver } from './pipeline/model-resolver.js';
import { RequestPipeline } from './pipeline/request-pipeline.js';
import { StoreBudgets } from './pipeline/store-budgets.js';

/** The requests in flight and what each may still wait for the stores; admission asks for the latter. */
@Global()
@Module({
  providers: [
    { provide: Drain, useFactory: () => new Drain() },
    {
      provide: StoreBudgets,
      inject: [ApiConfig],
      useFactory: ({ storeTimeoutMs }: ApiConfig) => new StoreBudgets(storeTimeoutMs),
    },
    { provide: RequestBudgets, useExisting: StoreBudgets },
  ],
  exports: [Drain, StoreBudgets, RequestBudgets],
})
export class RequestStateModule {}

/** The path of a request: hooks before the body is read, then guard, interceptor and filter of every route. */
@Module({
  imports: [
    RequestStateModule,
    AccountsModule,
    BillingModule,
    RateLimitModule,
    ModelRegistryModule,
    AdmissionModule,
    StorageModule,
    MediaModule,
    EgressModule,
  ],
  controllers: [DownloadController],
  providers: [
    RouteTable,
    RequestHooks,
    ReplayLimit,
    ModelResolver,
    JobRunner,
    RequestPipeline,
    QueuedMedia,
    MediaArtifacts,
    AudioRelays,
    DownloadUrls,
    {
      provide: ModelAvailabilityWatcher,
      inject: [QueueTransport],
      useFactory: ({ membership }: QueueTransport) => new ModelAvailabilityWatcher(membership),
    },
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
  exports: [
    RequestHooks,
    ModelResolver,
    JobRunner,
    RequestPipeline,
    QueuedMedia,
    MediaArtifacts,
    AudioRelays,
    DownloadUrls,
    MediaModule,
  ],
})
export class GatewayModule implements OnApplicationShutdown {
  constructor(@Inject(ModelAvailabilityWatcher) private readonly replicas: ModelAvailabilityWatcher) {}

  onApplicationShutdown(): void {
    this.replicas.close();
  }
}
