import type { OperatorClient } from '#egress';
import type { OpsConfig } from '#platform/config';
import type { Logger } from '#platform/logging';
import type { PrismaService } from '#platform/prisma';
import { HttpFacilitator } from '../facilitator/http-facilitator.js';
import { checkPaymentNetwork, openPaymentNetwork } from '../facilitator/payment-network.js';
import type { PaymentNode } from './payment-executor.js';

type ExecutionSettings = OpsConfig['paymentExecution'];
type NetworkSettings = ExecutionSettings['networks'][number];

export interface PaymentNodesDependencies {
  client: Pick<OperatorClient, 'post'>;
  prisma: PrismaService;
  logger: Logger;
}

/** Longest check of a network at start, in ms. */
const checkMs = 15_000;

/**
 * Opens what settles payments, and what says whether they were made, by network. Rejects, naming every setting with which
 * no payment can work. A node or facilitator that gives no answer is a warning: it may be back soon.
 */
export async function openPaymentNodes(
  settings: ExecutionSettings,
  dependencies: PaymentNodesDependencies,
): Promise<Map<string, PaymentNode>> {
  const { client, prisma, logger } = dependencies;
  const remote = settings.facilitator === null ? null : new HttpFacilitator({ settings: settings.facilitator, client });
  const nodes = new Map<string, PaymentNode>();
  const problems: string[] = [];
  for (const network of settings.networks) {
    problems.push(...(await problemsOf(network, remote, dependencies)));
    const { facilitator, chain } = await openPaymentNetwork(network, { nodeClient: client, prisma, logger });
    const settling = facilitator ?? remote;
    // The settings were checked when they were read.
    if (settling !== null) nodes.set(network.network, { facilitator: settling, chain });
  }
  if (problems.length > 0) throw new Error(`Payments cannot work with these settings. ${problems.join(' ')}`);
  return nodes;
}

async function problemsOf(
  network: NetworkSettings,
  remote: HttpFacilitator | null,
  { client, logger }: PaymentNodesDependencies,
): Promise<string[]> {
  const signal = AbortSignal.timeout(checkMs);
  const { problems, warnings } = await checkPaymentNetwork(network, { nodeClient: client }, signal);
  for (const warning of warnings) logger.warn({ network: network.network }, warning);
  if (network.feePayerKey !== null || remote === null) return [...problems];
  const unsupported = await remote.problemWith(network, signal).catch((error: unknown) => {
    logger.warn({ error, network: network.network }, 'the facilitator could not be asked for its networks');
    return null;
  });
  return [...problems, ...(unsupported === null ? [] : [unsupported])];
}
