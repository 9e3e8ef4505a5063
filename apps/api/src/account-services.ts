import type { Provider } from '@nestjs/common';
import {
  type AccountsService,
  AllowListedStakes,
  ApiKeysService,
  OnchainStakeVerifier,
  Web3KeysService,
} from '#accounts';
import { KeyUsageRepository, LedgerService, UsageAnalyticsService, UsageHistoryService } from '#billing';
import type { ApiConfig } from '#platform/config';
import type { PrismaService } from '#platform/prisma';

/** What the routes of keys and billing stand on. */
export interface AccountServices {
  apiKeys: ApiKeysService;
  web3Keys: Web3KeysService;
  ledger: LedgerService;
  usageHistory: UsageHistoryService;
  usageAnalytics: UsageAnalyticsService;
}

export interface AccountServicesDependencies {
  prisma: PrismaService;
  accounts: AccountsService;
  ledger: LedgerService;
  /** How long `prisma` waits for an answer. */
  queryTimeoutMs: number;
}

/** By how much the database gives up a sum before the driver gives up the database. */
const headStartMs = 2_000;

export function openAccountServices(
  { secretKey, stakeAllowList, stakeContract }: Pick<ApiConfig, 'secretKey' | 'stakeAllowList' | 'stakeContract'>,
  { prisma, accounts, ledger, queryTimeoutMs }: AccountServicesDependencies,
): AccountServices {
  const apiKeys = new ApiKeysService(prisma, {
    usage: new KeyUsageRepository(prisma),
    onChange: () => accounts.forgetKeys(),
  });
  const chain = stakeContract === null ? null : new OnchainStakeVerifier(stakeContract);
  const stakes = new AllowListedStakes(stakeAllowList, chain);
  return {
    apiKeys,
    web3Keys: new Web3KeysService({ prisma, keys: apiKeys, stakes, secretKey }),
    ledger,
    usageHistory: new UsageHistoryService(prisma, secretKey),
    usageAnalytics: new UsageAnalyticsService(prisma, { timeoutMs: queryTimeoutMs - headStartMs }),
  };
}

export function accountProviders(services: AccountServices): Provider[] {
  return [
    { provide: ApiKeysService, useValue: services.apiKeys },
    { provide: Web3KeysService, useValue: services.web3Keys },
    { provide: LedgerService, useValue: services.ledger },
    { provide: UsageHistoryService, useValue: services.usageHistory },
    { provide: UsageAnalyticsService, useValue: services.usageAnalytics },
  ];
}
