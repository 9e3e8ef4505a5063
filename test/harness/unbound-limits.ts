import type { PrismaService } from '#platform/prisma';
import { everything, LimitOverridesRepository, maxRequests, maxTokens } from '#rate-limit';

/**
 * Gives an account limits that no test or bench reaches, as an operator would (`sluice limits set`): every request
 * still takes the step at the limits' store.
 */
export async function unboundLimits(prisma: PrismaService, accountId: string): Promise<void> {
  await new LimitOverridesRepository(prisma).set({
    accountId,
    apiKeyId: null,
    target: everything,
    requests: maxRequests,
    tokens: maxTokens,
  });
}
