import type { OperatorClient } from '#egress';
import type { OpsConfig, PaymentExecutionNetwork } from '#platform/config';
import { HttpFacilitator } from './http-facilitator.js';
import { checkPaymentNetwork } from './payment-network.js';
import type { StartCheck } from './start-check.js';

/** What is wrong with the settings of one network. */
export interface PaymentCheck extends StartCheck {
  readonly network: string;
}

/** Longest check of a network, in ms. */
const checkMs = 15_000;

/** Checks each network against its node, and against the facilitator by URL where that one settles. */
export async function checkPayments(
  { networks, facilitator }: OpsConfig['paymentExecution'],
  client: Pick<OperatorClient, 'post'>,
): Promise<PaymentCheck[]> {
  const remote = facilitator === null ? null : new HttpFacilitator({ settings: facilitator, client });
  return Promise.all(networks.map((network) => check(network, remote, client)));
}

async function check(
  network: PaymentExecutionNetwork,
  remote: HttpFacilitator | null,
  client: Pick<OperatorClient, 'post'>,
): Promise<PaymentCheck> {
  const signal = AbortSignal.timeout(checkMs);
  const { problems, warnings } = await checkPaymentNetwork(network, { nodeClient: client }, signal);
  const found = { network: network.network, problems: [...problems], warnings: [...warnings] };
  if (network.feePayerKey !== null || remote === null) return found;
  try {
    const unsupported = await remote.problemWith(network, signal);
    if (unsupported !== null) found.problems.push(unsupported);
  } catch {
    found.warnings.push('The facilitator could not be asked for its networks.');
  }
  return found;
}
