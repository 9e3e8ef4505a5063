import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { type LimitOverride, LimitOverridesRepository } from '#rate-limit';
import type { Platform } from '#test/platform';

/** An account with its own limits on every model, as set by an operator. */
export interface LimitedTenant {
  accountId: string;
  key: string;
}

type TenantLimits = Partial<Pick<LimitOverride, 'requests' | 'tokens' | 'concurrent'>>;

/** Creates an account with 100 USD. Must run before any request, because replicas cache limits for 5 s. */
export async function openLimitedTenant(platform: Platform, limits: TenantLimits): Promise<LimitedTenant> {
  const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
  try {
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const { id: accountId } = await accounts.createAccount('limited');
    await createLedger(prisma).credit('grant', { accountId, currency: 'USD', amountNano: 100n * nanosPerUsd });
    const override = { target: '*', requests: null, tokens: null, ...limits };
    await new LimitOverridesRepository(prisma).set({ ...override, accountId, apiKeyId: null });
    const { key } = await accounts.createKey({ accountId, kind: 'INFERENCE' });
    return { accountId, key };
  } finally {
    await prisma.$disconnect();
  }
}
