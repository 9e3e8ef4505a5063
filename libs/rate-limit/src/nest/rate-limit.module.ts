import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { LimitsConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { FailureGuard } from '../failure-guard.js';
import { LimitConfig } from '../limits/limit-config.js';
import { LimitOverridesRepository } from '../limits/limit-overrides.repository.js';
import { RefusalLog } from '../log/refusal-log.js';
import { RefusalLogRepository } from '../log/refusal-log.repository.js';
import { RateLimiter } from '../rate-limiter.js';
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
        }),
    },
    {
      provide: FailureGuard,
      inject: [LimitStore, LimitsConfig],
      useFactory: (store: LimitStore, { abuseFailures: max, abuseWindowMs, abuseBlockMs: blockMs }: LimitsConfig) =>
        new FailureGuard(store, max === 0 ? null : { max, window: windowOf(abuseWindowMs), blockMs }),
    },
    {
      provide: RateLimiter,
      inject: [LimitStore, LimitConfig, FailureGuard, TokenCorrector, RefusalLog, LimitsConfig, Metrics],
      useFactory: limiterOf,
    },
  ],
  exports: [LimitStoreModule, RateLimiter, LimitConfig, RefusalLog, RefusalLogRepository],
})
export class RateLimitModule implements OnApplicationShutdown {
  constructor(@Inject(RefusalLog) private readonly log: RefusalLog) {}

  async onApplicationShutdown(): Promise<void> {
    await this.log.flush();
  }
}

function limiterOf(
  store: LimitStore,
  limitConfig: LimitConfig,
  guard: FailureGuard,
  corrector: TokenCorrector,
  log: RefusalLog,
  { rateLimits: enabled }: LimitsConfig,
  metrics: Metrics,
): RateLimiter {
  const refused = metrics.counter('sluice_requests_rate_limited_total', 'Requests rejected by a rate limit.', [
    'reason',
  ]);
  const onRefused = (reason: string) => refused.inc({ reason });
  return new RateLimiter({ store, limitConfig, guard, corrector, log, enabled, onRefused });
}
