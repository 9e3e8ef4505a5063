import type { OperatorClient } from '#egress';
import type { OpsConfig } from '#platform/config';
import type { Logger } from '#platform/logging';
import { checkPayments } from '../facilitator/check-payments.js';
import { HttpFacilitator } from '../facilitator/http-facilitator.js';
import { openPaymentNetwork } from '../facilitator/payment-network.js';
import type { SentTransactionsRepository } from '../facilitator/sent-transactions.repository.js';
import type { PaymentNode } from './payment-executor.js';

type ExecutionSettings = OpsConfig['paymentExecution'];

export interface PaymentNodesDependencies {
  client: Pick<OperatorClient, 'post'>;
  sentTransactions: SentTransactionsRepository;
  logger: Logger;
}

/**
 * Opens what settles payments, and what says whether they were made, by network. Rejects, naming every setting with which
 * no payment can work. A node or facilitator that gives no answer is a warning: it may be back soon.
 */
export async function openPaymentNodes(
  settings: ExecutionSettings,
  dependencies: PaymentNodesDependencies,
): Promise<Map<string, PaymentNode>> {
  const { client, sentTransactions, logger } = dependencies;
  const remote = settings.facilitator === null ? null : new HttpFacilitator({ settings: settings.facilitator, client });
  const nodes = new Map<string, PaymentNode>();
  const checks = await checkPayments(settings, client);
  for (const { network, warnings } of checks) for (const warning of warnings) logger.warn({ network }, warning);
  const problems = checks.flatMap((check) => check.problems);
  if (problems.length > 0) throw new Error(`Payments cannot work with these settings. ${problems.join(' ')}`);
  for (const network of settings.networks) {
    const { facilitator, chain } = await openPaymentNetwork(network, { nodeClient: client, sentTransactions, logger });
    const settling = facilitator ?? remote;
    // The settings were checked when they were read.
    if (settling !== null) nodes.set(network.network, { facilitator: settling, chain });
  }
  return nodes;
}
