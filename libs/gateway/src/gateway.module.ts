import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccountsModule } from '#accounts/nest';
import { BillingModule } from '#billing/nest';
import { RequestBudgets } from '#jobs';
import { AdmissionModule } from '#jobs/nest';
import { ApiConfig } from '#platform/config';
import { QueueTransport } from '#queue';
import { RateLimitModule } from '#rate-limit/nest';
import { AccessGuard } from './access/access.guard.js';
import { ErrorFilter } from './errors/error.filter.js';
import { RouteTable } from './errors/route-table.js';
import { RequestHooks } from './http/request-hooks.js';
import { IdempotencyInterceptor } from './idempotency/idempotency.interceptor.js';
import { ReplayLimit } from './limits/replay-limit.js';
import { DownloadController } from './media/download.controller.js';
import { Drain } from './pipeline/drain.js';
import { ModelAvailabilityWatcher } from './pipeline/model-availability-watcher.js';
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
  imports: [RequestStateModule, AccountsModule, BillingModule, RateLimitModule, AdmissionModule],
  controllers: [DownloadController],
  providers: [
    RouteTable,
    RequestHooks,
    ReplayLimit,
    {
      provide: ModelAvailabilityWatcher,
      inject: [QueueTransport],
      useFactory: ({ membership }: QueueTransport) => new ModelAvailabilityWatcher(membership),
    },
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
  exports: [RequestHooks, ModelAvailabilityWatcher],
})
export class GatewayModule implements OnApplicationShutdown {
  constructor(@Inject(ModelAvailabilityWatcher) private readonly replicas: ModelAvailabilityWatcher) {}

  onApplicationShutdown(): void {
    this.replicas.close();
  }
}
