import { Module } from '@nestjs/common';
import { LedgerEntriesRepository } from '../ledger-entries.repository.js';
import { LedgerVerificationRepository } from '../ledger-verification.repository.js';
import { LedgerRepository } from '../ledger.repository.js';
import { LedgerService } from '../ledger.service.js';
import { MoneyMetrics } from '../money.metrics.js';
import { PriceList } from '../price-list.js';
import { PriceRepository } from '../price.repository.js';
import { RecentBalances } from '../recent-balances.js';
import { ReservationStep } from '../reservation.step.js';
import { SettlementStep } from '../settlement.step.js';
import { AccountTransactionsRepository } from '../usage/account-transactions.repository.js';
import { AccountTransactions } from '../usage/account-transactions.service.js';
import { KeyUsageRepository } from '../usage/key-usage.repository.js';
import { UsageAnalyticsRepository } from '../usage/usage-analytics.repository.js';
import { UsageAnalyticsService } from '../usage/usage-analytics.service.js';
import { UsageFoldRepository } from '../usage/usage-fold.repository.js';
import { UsageReportRepository } from '../usage/usage-report.repository.js';
import { UsageReportService } from '../usage/usage-report.service.js';
import { UsageHistoryRepository } from '../usage/usage-history.repository.js';
import { UsageHistoryService } from '../usage/usage-history.service.js';

/** Ledger, prices and usage. */
@Module({
  providers: [
    LedgerRepository,
    LedgerEntriesRepository,
    LedgerVerificationRepository,
    LedgerService,
    PriceRepository,
    PriceList,
    RecentBalances,
    MoneyMetrics,
    ReservationStep,
    KeyUsageRepository,
    UsageHistoryRepository,
    UsageHistoryService,
    UsageAnalyticsRepository,
    UsageAnalyticsService,
    UsageFoldRepository,
    UsageReportRepository,
    UsageReportService,
    AccountTransactionsRepository,
    AccountTransactions,
    SettlementStep,
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
    UsageFoldRepository,
    UsageReportService,
    AccountTransactions,
    SettlementStep,
  ],
})
export class BillingModule {}
