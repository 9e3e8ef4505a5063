export type { Facilitator, PaymentChain } from '../facilitator/facilitator.js';
export { HttpFacilitator } from '../facilitator/http-facilitator.js';
export { type ExecutionLimits, PaymentExecutor, type PaymentNode } from './payment-executor.js';
export { SentTransactionsRepository } from '../facilitator/sent-transactions.repository.js';
export { PaymentMetrics } from './payment.metrics.js';
export { PaymentRunner } from './payment-runner.js';
export { type ClaimedTopUp, TopUpExecutionRepository } from './top-up-execution.repository.js';
export { openPaymentNodes, type PaymentNodesDependencies } from './open-payment-nodes.js';
