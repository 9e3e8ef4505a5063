import { Module } from '@nestjs/common';
import { PrismaService } from '#platform/prisma';
import type { Meter } from '../meter.js';
import { SettlementStep } from '../closing.step.js';
import { LedgerService } from '../ledger.service.js';
import { MoneyMetrics } from '../money.metrics.js';
import { PriceList } from '../price-list.js';
import { RecentBalances } from '../recent-balances.js';
import { ReservationStep } from '../reservation.step.js';
import { AccountTransactions } from '../usage/account-transactions.service.js';
import { KeyUsageRepository } from '../usage/key-usage.repository.js';
import { UsageAnalyticsService } from '../usage/usage-analytics.service.js';
import { UsageHistoryService } from '../usage/usage-history.service.js';

/** Injection token of the `Meter` that says what a job is charged for; the process provides it. */
export const JobMeter = Symbol('JobMeter');

/** Ledger, prices and usage. */
@Module({
  providers: [
    LedgerService,
    {
      provide: PriceList,
      inject: [PrismaService],
      useFactory: (prisma: PrismaService) => new PriceList(prisma),
    },
    RecentBalances,
    MoneyMetrics,
    ReservationStep,
    KeyUsageRepository,
    UsageHistoryService,
    UsageAnalyticsService,
    AccountTransactions,
    {
      provide: SettlementStep,
      inject: [JobMeter, MoneyMetrics],
      useFactory: (meter: Meter, metrics: MoneyMetrics) => new SettlementStep(meter, metrics),
    },
  ],
  exports: [
    LedgerService,
    PriceList,
    RecentBalances,
    MoneyMetrics,
    ReservationStep,
    KeyUsageRepository,
    UsageHistoryService,
    UsageAnalyticsService,
    AccountTransactions,
    SettlementStep,
  ],
})
export class BillingModule {}
