import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { LimitsConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
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
import { TokenCorrector } from '../token-reservation.js';
import { LimitStoreModule } from './limit-store.module.js';

/** What holds callers to their limits, and the log of those who were refused. */
@Module({
  imports: [LimitStoreModule],
  providers: [
    LimitOverridesRepository,
    RefusalLogRepository,
    {
      provide: RefusalLog,
      inject: [RefusalLogRepository, Logger],
      useFactory: (lines: RefusalLogRepository, logger: Logger) =>
        new RefusalLog(
          (refusals) => lines.add(refusals),
          (error) => logger.warn({ error }, 'The log of refused requests could not be written.'),
        ),
    },
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
    { provide: RefusalCounter, inject: [Metrics], useFactory: (metrics: Metrics) => new RefusalCounter(metrics) },
    {
      provide: RateLimiter,
      inject: [LimitStore, LimitConfig, FailureGuard, TokenCorrector, RefusalLog, LimitsConfig, RefusalCounter],
      useFactory: limiterOf,
    },
    {
      provide: OpenRequests,
      inject: [LimitStore, LimitConfig, LimitsConfig, RefusalCounter],
      useFactory: (
        store: LimitStore,
        limitConfig: LimitConfig,
        { rateLimits: enabled }: LimitsConfig,
        refusals: RefusalCounter,
      ) => new OpenRequests({ store, limitConfig, enabled, onRefused: (reason) => refusals.count(reason) }),
    },
    {
      provide: CreditLimiter,
      inject: [LimitStore, LimitsConfig, RefusalCounter],
      useFactory: (store: LimitStore, { rateLimits: enabled }: LimitsConfig, refusals: RefusalCounter) =>
        new CreditLimiter({ store, enabled, onRefused: (reason) => refusals.count(reason) }),
    },
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

function limiterOf(
  store: LimitStore,
  limitConfig: LimitConfig,
  guard: FailureGuard,
  corrector: TokenCorrector,
  log: RefusalLog,
  { rateLimits: enabled }: LimitsConfig,
  refusals: RefusalCounter,
): RateLimiter {
  return new RateLimiter({
    store,
    limitConfig,
    guard,
    corrector,
    log,
    enabled,
    onRefused: (reason) => refusals.count(reason),
  });
}
