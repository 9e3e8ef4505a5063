import { WalletsRepository } from '#accounts';
import { OperatorClient } from '#egress';
import { TopUpsRepository } from '#payments';
import {
  openPaymentNodes,
  PaymentExecutor,
  PaymentMetrics,
  PaymentRunner,
  TopUpExecutionRepository,
} from '#payments/execution';
import type { OpsConfig } from '#platform/config';
import type { Logger } from '#platform/logging';
import type { Metrics } from '#platform/metrics';
import type { PrismaService } from '#platform/prisma';

/** What executes top-ups. Rejects for settings with which no payment can work; without payments it does nothing. */
export async function createPaymentRunner(
  { paymentExecution: settings }: OpsConfig,
  prisma: PrismaService,
  metrics: Metrics,
  logger: Logger,
): Promise<PaymentRunner> {
  const wallets = new WalletsRepository(prisma);
  const topUps = new TopUpExecutionRepository(prisma, (transaction, address) =>
    wallets.accountOf(transaction, address),
  );
  if (settings.networks.length === 0) return new PaymentRunner({ executor: null, topUps, logger });
  const client = new OperatorClient();
  const executor = new PaymentExecutor({
    topUps,
    nodes: await openPaymentNodes(settings, { client, prisma, logger }),
    logger,
    metrics: new PaymentMetrics(metrics, new TopUpsRepository(prisma)),
  });
  return new PaymentRunner({ executor, topUps, logger, onClose: () => client.close() });
}
