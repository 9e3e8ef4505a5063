import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { LedgerService, MoneyMetrics, ReservationStep, SettlementStep } from '#billing';
import { BillingModule } from '#billing/nest';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { Tracing } from '#platform/tracing';
import { QueueTransport } from '#queue';
import { TokenCorrector } from '#rate-limit';
import { LimitStoreModule } from '#rate-limit/nest';
import { StorageModule } from '#storage/nest';
import { countDecisions } from '../admission/admission.metrics.js';
import { AccountTurns } from '../admission/account-turns.js';
import { AdmissionService } from '../admission/admission.service.js';
import { PayloadCipher } from '../admission/payload-cipher.js';
import { RequestBudgets } from '../admission/request-budgets.js';
import { SecretBox } from '#platform/encryption';
import { correctReservedTokens } from '../admission/token-correction.js';
import { ThroughputMeter } from '../admission/throughput-meter.js';
import { DirectJobs } from '../direct/direct-jobs.js';
import { IdempotencyRepository } from '../idempotency/idempotency.repository.js';
import { IdempotencyService } from '../idempotency/idempotency.service.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { JobsService } from '../lifecycle/jobs.service.js';
import { DownloadService } from '../media/downloads/download.service.js';
import { ResponseStates } from '../response-states/response-states.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { ResponseStatesRepository } from '../response-states/response-states.repository.js';
import { JobsModule } from './jobs.module.js';

/** What an api replica does with jobs: admits, cancels, and serves their results. The process provides `RequestBudgets`. */
@Module({
  imports: [JobsModule, BillingModule, LimitStoreModule, StorageModule],
  providers: [
    DownloadService,
    {
      provide: IdempotencyService,
      inject: [IdempotencyRepository, ApiConfig, LedgerService, Logger],
      useFactory: (repository: IdempotencyRepository, config: ApiConfig, ledger: LedgerService, logger: Logger) =>
        new IdempotencyService({
          repository,
          box: new SecretBox(config.secretKeys, 'stored responses'),
          chargeOf: (requestId) => ledger.chargeOf(requestId),
          logger,
        }),
    },
    {
      provide: JobCloser,
      inject: [JobsRepository, SettlementStep, TokenCorrector],
      useFactory: (jobs: JobsRepository, settlement: SettlementStep, corrector: TokenCorrector) =>
        new JobCloser(jobs, [settlement], [correctReservedTokens(corrector), settlement.afterwards]),
    },
    {
      provide: AdmissionService,
      inject: [
        JobsRepository,
        JobCloser,
        PayloadCipher,
        ResultTickets,
        AccountTurns,
        ThroughputMeter,
        QueueTransport,
        Logger,
        ApiConfig,
        IdempotencyService,
        ReservationStep,
        RequestBudgets,
        Tracing,
        Metrics,
        MoneyMetrics,
      ],
      useFactory: admissionOf,
    },
    {
      provide: ThroughputMeter,
      inject: [QueueTransport],
      useFactory: ({ membership }: QueueTransport) => {
        const meter = new ThroughputMeter(() => membership.list());
        meter.start();
        return meter;
      },
    },
    {
      provide: DirectJobs,
      inject: [AdmissionService, JobCloser, Logger],
      useFactory: (admission: AdmissionService, closer: JobCloser, logger: Logger) =>
        new DirectJobs({ admission, closer, logger }),
    },
    {
      provide: ResponseStates,
      inject: [ResponseStatesRepository, ApiConfig, Logger],
      useFactory: (repository: ResponseStatesRepository, config: ApiConfig, logger: Logger) =>
        new ResponseStates({
          repository,
          secretKeys: config.secretKeys,
          lifetimeMs: config.storedResponsesMs,
          logger,
        }),
    },
    {
      provide: JobsService,
      inject: [JobsRepository, ResultTickets, QueueTransport, Logger],
      useFactory: (jobs: JobsRepository, tickets: ResultTickets, transport: QueueTransport, logger: Logger) =>
        new JobsService({ jobs, tickets, transport, logger }),
    },
  ],
  exports: [JobsModule, AdmissionService, DirectJobs, IdempotencyService, JobsService, DownloadService, ResponseStates],
})
export class AdmissionModule implements OnApplicationShutdown {
  constructor(
    private readonly idempotency: IdempotencyService,
    private readonly jobs: JobsService,
    private readonly meter: ThroughputMeter,
  ) {}

  /** Writes what is still waiting, before the transport and the database close. */
  async onApplicationShutdown(): Promise<void> {
    this.meter.stop();
    await this.idempotency.close();
    await this.jobs.close();
  }
}

function admissionOf(
  jobs: JobsRepository,
  closer: JobCloser,
  cipher: PayloadCipher,
  tickets: ResultTickets,
  turns: AccountTurns,
  meter: ThroughputMeter,
  transport: QueueTransport,
  logger: Logger,
  { queueLimit, maxWaitMs }: ApiConfig,
  idempotency: IdempotencyService,
  reservation: ReservationStep,
  budgets: RequestBudgets,
  tracing: Tracing,
  metrics: Metrics,
  money: MoneyMetrics,
): AdmissionService {
  return new AdmissionService({
    jobs,
    closer,
    cipher,
    tickets,
    turns,
    transport,
    logger,
    queueLimit,
    maxWaitMs,
    rateOf: (modelId) => meter.rateOf(modelId),
    // The fence of the idempotency key first: money comes last, the accounts are locked from there on.
    steps: [idempotency, reservation],
    budgetOf: (requestId) => budgets.of(requestId),
    traceOf: (requestId) => tracing.parentFor(requestId),
    onDecision: countDecisions(metrics),
    onWritten: (job, quote) => money.reserved(job, quote),
  });
}
