import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { LimitsConfig } from '#platform/config';
import { CreditLimiter } from '../credit-limiter.js';
import { FailureGuard } from '../failure-guard.js';
import { LimitConfig } from '../limits/limit-config.js';
import { LimitOverridesRepository } from '../limits/limit-overrides.repository.js';
import { RefusalLog } from '../log/refusal-log.js';
import { RefusalLogRepository } from '../log/refusal-log.repository.js';
import { concurrencyFactors } from '../limits/limit-table.js';
import { OpenRequests } from '../open-requests.js';
import { RateLimiter } from '../rate-limiter.js';
import { RefusalCounter } from '../refusal-counter.js';
import { LimitStore } from '../store/limit-store.js';
import { windowOf } from '../store/limit-window.js';
import { LimitStoreModule } from './limit-store.module.js';

/** What holds callers to their limits, and the log of those who were refused. */
@Module({
  imports: [LimitStoreModule],
  providers: [
    LimitOverridesRepository,
    RefusalLogRepository,
    RefusalLog,
    RefusalCounter,
    {
      provide: LimitConfig,
      inject: [LimitOverridesRepository, LimitsConfig],
      useFactory: (overrides: LimitOverridesRepository, config: LimitsConfig) =>
        new LimitConfig(() => overrides.list(), {
          plain: { requests: config.plainRequestsPerMinute, tokens: null },
          key: { requests: config.keyRequestsPerMinute ?? null, tokens: config.keyTokensPerMinute ?? null },
          installation: {
            requests: config.globalRequestsPerMinute ?? null,
            tokens: config.globalTokensPerMinute ?? null,
          },
          concurrent: {
            default: config.accountConcurrent * concurrencyFactors.default,
            partner: config.accountConcurrent * concurrencyFactors.partner,
            key: config.keyConcurrent ?? null,
          },
        }),
    },
    {
      provide: FailureGuard,
      inject: [LimitStore, LimitsConfig],
      useFactory: (store: LimitStore, { abuseFailures: max, abuseWindowMs, abuseBlockMs: blockMs }: LimitsConfig) =>
        new FailureGuard(store, max === 0 ? null : { max, window: windowOf(abuseWindowMs), blockMs }),
    },
    RateLimiter,
    OpenRequests,
    CreditLimiter,
  ],
  exports: [LimitStoreModule, RateLimiter, OpenRequests, CreditLimiter, LimitConfig, RefusalLog, RefusalLogRepository],
})
export class RateLimitModule implements OnApplicationShutdown {
  constructor(
    private readonly log: RefusalLog,
    private readonly open: OpenRequests,
    private readonly credits: CreditLimiter,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.log.flush();
    await this.open.close();
    await this.credits.close();
  }
}
