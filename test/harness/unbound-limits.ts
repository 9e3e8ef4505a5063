import type { PrismaService } from '#platform/prisma';
import { everything, LimitOverridesRepository, maxConcurrent, maxRequests, maxTokens } from '#rate-limit';

/**
 * Gives an account limits that no test or bench reaches, like `sluice limits set`. Every request still accesses the
 * limit store.
 */
export async function unboundLimits(prisma: PrismaService, accountId: string): Promise<void> {
  await new LimitOverridesRepository(prisma).set({
    accountId,
    apiKeyId: null,
    target: everything,
    requests: maxRequests,
    tokens: maxTokens,
    concurrent: maxConcurrent,
  });
}
