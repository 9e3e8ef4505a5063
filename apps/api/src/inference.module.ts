import { Global, Module } from '@nestjs/common';
import { PriceList } from '#billing';
import { BillingModule } from '#billing/nest';
import { Egress } from '#egress';
import { EgressModule } from '#egress/nest';
import { Drain, GatewayModule, inferenceServices, ModelAvailabilityWatcher, StoreBudgets } from '#gateway';
import { AdmissionService, JobsService, MediaJobsRepository } from '#jobs';
import { AdmissionModule } from '#jobs/nest';
import { MediaTools } from '#media';
import { MediaModule } from '#media/nest';
import { ModelRegistryService } from '#model-registry';
import { ModelRegistryModule } from '#model-registry/nest';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { QueueTransport } from '#queue';
import { RateLimiter } from '#rate-limit';
import { RateLimitModule } from '#rate-limit/nest';
import { ArtifactStore, DownloadLinks } from '#storage';
import { StorageModule } from '#storage/nest';
import { type InferenceDependencies, inferenceServicesOf } from './inference-services.js';

/** What each of `InferenceDependencies` is injected as. */
const tokens = {
  config: ApiConfig,
  logger: Logger,
  metrics: Metrics,
  registry: ModelRegistryService,
  prices: PriceList,
  transport: QueueTransport,
  admission: AdmissionService,
  jobs: JobsService,
  replicas: ModelAvailabilityWatcher,
  drain: Drain,
  budgets: StoreBudgets,
  limiter: RateLimiter,
  artifacts: ArtifactStore,
  links: DownloadLinks,
  media: MediaTools,
  mediaJobs: MediaJobsRepository,
  egress: Egress,
} satisfies Record<keyof InferenceDependencies, unknown>;

/** What the routes of the slices ask for. */
@Global()
@Module({
  imports: [
    GatewayModule,
    BillingModule,
    AdmissionModule,
    RateLimitModule,
    ModelRegistryModule,
    StorageModule,
    MediaModule,
    EgressModule,
  ],
  providers: [
    {
      provide: inferenceServices,
      inject: Object.values(tokens),
      useFactory: (...parts: unknown[]) => {
        const named = Object.keys(tokens).map((name, index) => [name, parts[index]]);
        return inferenceServicesOf(Object.fromEntries(named) as InferenceDependencies);
      },
    },
  ],
  exports: [inferenceServices],
})
export class InferenceModule {}
