export * from './charge-line.js';
export * from './closing.step.js';
export * from './job-quote.js';
export * from './ledger.service.js';
export type { AccountBalance, CreditKind, LedgerLine, VerifyReport } from './ledger.repository.js';
export * from './price-list.js';
export * from './pricing.js';
export * from './reservation.step.js';
