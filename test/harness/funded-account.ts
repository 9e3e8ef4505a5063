import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import type { PrismaService } from '#platform/prisma';

interface FundedAccount {
  accountId: string;
  /** An inference key. */
  key: string;
}

/** Makes another account that can pay, besides the first of a platform. */
export async function fundedAccount(prisma: PrismaService, amountNano: bigint): Promise<FundedAccount> {
  const accounts = new AccountsService(new AccountsRepository(prisma));
  const { id: accountId } = await accounts.createAccount('other');
  await createLedger(prisma).credit('grant', { accountId, currency: 'USD', amountNano });
  return { accountId, key: (await accounts.createKey({ accountId, kind: 'INFERENCE' })).key };
}
