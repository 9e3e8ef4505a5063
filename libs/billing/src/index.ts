export { LedgerArchiveRepository } from './archive/ledger-archive.repository.js';
export { type ArchiveFault, type ArchiveResult, LedgerArchiver } from './archive/ledger-archiver.js';
export { createLedger } from './create-ledger.js';
export { LedgerRepository } from './ledger.repository.js';
export { SettlementStep } from './settlement.step.js';
export { type BalanceBefore, JobQuote } from './job-quote.js';
export { LedgerVerifier, LedgerWatch } from './ledger-watch.js';
export { isConsistent, LedgerService } from './ledger.service.js';
export type { EntryPosition, LedgerLine, PlacedLine } from './ledger-entries.repository.js';
export type { AccountBalance, CreditKind, VerifyReport } from './ledger.repository.js';
export type { ModelPrice } from './model-price.js';
export { MoneyMetrics } from './money.metrics.js';
export { PriceList } from './price-list.js';
export { PriceRepository } from './price.repository.js';
export { RecentBalances } from './recent-balances.js';
export { ReservationRefused } from './reservation-refused.js';
export { ReservationStep } from './reservation.step.js';
export {
  type AccountTransaction,
  AccountTransactions,
  type TransactionPage,
} from './usage/account-transactions.service.js';
export { FoldUsageSweep } from './usage/fold-usage.sweep.js';
export { UsageFoldRepository } from './usage/usage-fold.repository.js';
export { FoldKeyDaysSweep } from './usage/fold-key-days.sweep.js';
export { KeyUsageRepository } from './usage/key-usage.repository.js';
export { UsageAnalyticsRepository } from './usage/usage-analytics.repository.js';
export { UsageAnalyticsService } from './usage/usage-analytics.service.js';
export { UsageHistoryRepository } from './usage/usage-history.repository.js';
export { UsageHistoryService } from './usage/usage-history.service.js';
