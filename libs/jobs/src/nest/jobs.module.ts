import { Module } from '@nestjs/common';
import { DatabaseConfig } from '#platform/config';
import { AccountTurns } from '../admission/account-turns.js';
import { PayloadCipher } from '../admission/payload-cipher.js';
import { IdempotencyRepository } from '../idempotency/idempotency.repository.js';
import { JobActivityRepository } from '../inspection/job-activity.repository.js';
import { JobInspectionRepository } from '../inspection/job-inspection.repository.js';
import { RequestListRepository } from '../inspection/request-list.repository.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { DownloadLinksRepository } from '../media/downloads/download-links.repository.js';
import { MediaJobsRepository } from '../media/media-jobs.repository.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { ResponseStatesRepository } from '../response-states/response-states.repository.js';
import { ExchangeSignaturesRepository } from '../signatures/exchange-signatures.repository.js';

/** The rows of jobs, of their media, of idempotency keys and of stored responses, the cipher of payloads, and tickets. */
@Module({
  providers: [
    JobsRepository,
    JobActivityRepository,
    JobInspectionRepository,
    RequestListRepository,
    MediaJobsRepository,
    IdempotencyRepository,
    DownloadLinksRepository,
    ResponseStatesRepository,
    ExchangeSignaturesRepository,
    {
      provide: PayloadCipher,
      inject: [DatabaseConfig],
      useFactory: ({ secretKeys }: DatabaseConfig) => new PayloadCipher(secretKeys),
    },
    {
      provide: AccountTurns,
      inject: [DatabaseConfig],
      useFactory: ({ secretKeys, fairQueue }: DatabaseConfig) => new AccountTurns(secretKeys, fairQueue),
    },
    {
      provide: ResultTickets,
      inject: [DatabaseConfig],
      useFactory: ({ secretKeys }: DatabaseConfig) => new ResultTickets(secretKeys),
    },
  ],
  exports: [
    JobsRepository,
    JobActivityRepository,
    JobInspectionRepository,
    RequestListRepository,
    MediaJobsRepository,
    IdempotencyRepository,
    DownloadLinksRepository,
    ResponseStatesRepository,
    ExchangeSignaturesRepository,
    AccountTurns,
    PayloadCipher,
    ResultTickets,
  ],
})
export class JobsModule {}
