import { AccountsService } from '#accounts';
import { LedgerService } from '#billing';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { LimitOverridesRepository, type Limits } from '#rate-limit';
import type { Platform } from '#test/platform';

/** An account with limits of its own on every model, as an operator sets them. */
export interface LimitedTenant {
  accountId: string;
  key: string;
}

/** Makes one with 100 USD; nobody may have asked the platform yet, or replicas go by what they read before for 5 s. */
export async function openLimitedTenant(platform: Platform, limits: Partial<Limits>): Promise<LimitedTenant> {
  const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
  try {
    const accounts = new AccountsService(prisma);
    const { id: accountId } = await accounts.createAccount('limited');
    await new LedgerService(prisma).credit('grant', { accountId, currency: 'USD', amountNano: 100n * nanosPerUsd });
    const override = { target: '*', requests: null, tokens: null, ...limits };
    await new LimitOverridesRepository(prisma).set({ ...override, accountId, apiKeyId: null });
    const { key } = await accounts.createKey({ accountId, kind: 'INFERENCE' });
    return { accountId, key };
  } finally {
    await prisma.$disconnect();
  }
}
