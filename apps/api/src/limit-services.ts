import type { Provider } from '@nestjs/common';
import type { ApiKeysService } from '#accounts';
import { RecentBalances, type LedgerService } from '#billing';
import { displayNanos } from '#common';
import type { ModelRegistryService } from '#model-registry';
import type { ApiConfig } from '#platform/config';
import type { Logger } from '#platform/logging';
import type { Metrics } from '#platform/metrics';
import type { PrismaService } from '#platform/prisma';
import { openRateLimits, type RateLimits, windowOf } from '#rate-limit';
import { type LimitFacts, RateLimitsService } from '#rate-limit/api';

/** What holds callers to their limits, and what they may read of it. */
export interface LimitServices {
  limits: RateLimits;
  balances: RecentBalances;
  limitViews: RateLimitsService;
}

export interface LimitDependencies {
  prisma: PrismaService;
  ledger: LedgerService;
  apiKeys: ApiKeysService;
  registry: ModelRegistryService;
  metrics: Metrics;
  logger: Logger;
}

/** Rejects when the Redis of the windows does not answer. */
export async function openLimitServices(config: ApiConfig, sources: LimitDependencies): Promise<LimitServices> {
  const { prisma, ledger, metrics, logger } = sources;
  const refused = metrics.counter('sluice_requests_rate_limited_total', 'Requests that a rate limit turned away.', [
    'reason',
  ]);
  const limits = await openRateLimits({
    prisma,
    redisUrl: config.limitsRedisUrl,
    namespace: config.namespace,
    enabled: config.rateLimits,
    standing: {
      plain: { requests: config.plainRequestsPerMinute, tokens: null },
      key: { requests: config.keyRequestsPerMinute ?? null, tokens: config.keyTokensPerMinute ?? null },
      installation: { requests: config.globalRequestsPerMinute ?? null, tokens: config.globalTokensPerMinute ?? null },
    },
    failures:
      config.abuseFailures === 0
        ? null
        : { max: config.abuseFailures, window: windowOf(config.abuseWindowMs), blockMs: config.abuseBlockMs },
    onRefused: (reason) => refused.inc({ reason }),
    warn: (message, error) => logger.warn({ error }, message),
  });
  const { limitConfig, log, lines } = limits;
  return {
    limits,
    balances: new RecentBalances((accountId) => ledger.balance(accountId)),
    limitViews: new RateLimitsService({ limitConfig, log, lines, facts: limitFacts(sources) }),
  };
}

function limitFacts({ ledger, apiKeys, registry }: LimitDependencies): LimitFacts {
  return {
    balances: async (accountId) => {
      const { diemNano, usdNano, bundledNano } = await ledger.balance(accountId);
      return { USD: displayNanos(usdNano + bundledNano, 6), DIEM: displayNanos(diemNano, 6) };
    },
    keyExpiration: async ({ accountId, apiKeyId }) => (await apiKeys.find(accountId, apiKeyId)).record.expiresAt,
    models: async () => {
      const listed = new Set((await registry.list('all')).map(({ id }) => id));
      return (await registry.inventory()).map(({ manifest }) => manifest).filter(({ id }) => listed.has(id));
    },
  };
}

export function limitProviders({ limitViews }: LimitServices): Provider[] {
  return [{ provide: RateLimitsService, useValue: limitViews }];
}
