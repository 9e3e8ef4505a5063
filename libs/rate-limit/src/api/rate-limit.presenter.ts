import type { Limits, LimitTier } from '../limits/limit-table.js';
import type { StoredRefusal } from '../log/refusal-log.repository.js';
import type { LimitAmount, RateLimitLogResponse, RateLimitsResponse } from './rate-limit.response.js';
import type { LimitOverview } from './rate-limits.service.js';

function amounts({ requests, tokens }: Limits): LimitAmount[] {
  const both = [
    { type: 'RPM', amount: requests },
    { type: 'TPM', amount: tokens },
  ];
  return both.flatMap(({ type, amount }) => (amount === null ? [] : [{ amount, type }]));
}

export function presentLimits(tier: LimitTier, overview: LimitOverview): RateLimitsResponse {
  const { balances, keyExpiration, nextEpochBegins, models } = overview;
  return {
    data: {
      accessPermitted: balances.USD > 0 || balances.DIEM > 0,
      apiTier: { id: tier, isCharged: true },
      balances,
      keyExpiration: keyExpiration?.toISOString() ?? null,
      nextEpochBegins: nextEpochBegins.toISOString(),
      rateLimits: models.map(({ id, limits }) => ({ apiModelId: id, rateLimits: amounts(limits) })),
    },
  };
}

export function presentRefusals(refusals: StoredRefusal[]): RateLimitLogResponse {
  return {
    object: 'list',
    data: refusals.map(({ apiKeyId, modelId, tier, type, createdAt }) => ({
      apiKeyId,
      modelId,
      rateLimitTier: tier,
      rateLimitType: type,
      timestamp: createdAt.toISOString(),
    })),
  };
}
