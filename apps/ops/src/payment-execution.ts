import { OperatorClient } from '#egress';
import { TopUpsRepository } from '#payments';
import {
  openPaymentNodes,
  PaymentExecutor,
  PaymentMetrics,
  PaymentRunner,
  SentTransactionsRepository,
  TopUpExecutionRepository,
} from '#payments/execution';
import { OpsConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';

/** Opens the runner that executes top-ups. */
@Injectable()
export class PaymentExecution {
  constructor(
    private readonly config: OpsConfig,
    private readonly topUps: TopUpExecutionRepository,
    private readonly rows: TopUpsRepository,
    private readonly sentTransactions: SentTransactionsRepository,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /** Rejects for settings with which no payment can work. Without payments the runner does nothing. */
  async createRunner(): Promise<PaymentRunner> {
    const { paymentExecution: settings } = this.config;
    const { topUps, sentTransactions, logger } = this;
    if (settings.networks.length === 0) return new PaymentRunner({ executor: null, topUps, logger });
    const client = new OperatorClient();
    const executor = new PaymentExecutor({
      topUps,
      nodes: await openPaymentNodes(settings, { client, sentTransactions, logger }),
      logger,
      metrics: new PaymentMetrics(this.metrics, this.rows),
    });
    return new PaymentRunner({ executor, topUps, logger, onClose: () => client.close() });
  }
}
