import { Module } from '@nestjs/common';
import { SettlementStep } from '#billing';
import { BillingModule } from '#billing/nest';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { type JobDefinition, JobResultHandler } from '#queue';
import { TokenCorrector } from '#rate-limit';
import { LimitStoreModule } from '#rate-limit/nest';
import { ArtifactStore } from '#storage';
import { StorageModule } from '#storage/nest';
import { correctReservedTokens } from '../admission/token-correction.js';
import { JobCloser, type JobCloserOptions } from '../lifecycle/job-closer.js';
import { JobResultProcessor, resultRefusals } from '../lifecycle/job-result.processor.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { MediaClosing } from '../media/media-closing.js';
import { MediaJobsRepository } from '../media/media-jobs.repository.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { JobsModule } from './jobs.module.js';

/** Every kind of job, by modality; the process provides it. */
export abstract class JobCatalog {
  abstract readonly definitions: ReadonlyMap<string, JobDefinition<object, object>>;
}

/** Clients have their responses before the results are written, so results can be gathered for a moment, in ms. */
const gatherMs = 10;

/** Makes closers that do everything the end of a job asks for: the row, its media, its money, its reserved tokens. */
class JobClosers {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly media: MediaClosing,
    private readonly settlement: SettlementStep,
    private readonly corrector: TokenCorrector,
  ) {}

  open(options?: JobCloserOptions): JobCloser {
    const { jobs, media, settlement, corrector } = this;
    const listeners = [correctReservedTokens(corrector), media.afterwards, settlement.afterwards];
    // Ledger updates come last, because they lock the accounts.
    return new JobCloser(jobs, [media, settlement], listeners, options);
  }
}

/** Closes jobs, in ops: `JobResultHandler` for the results that workers report, `JobCloser` for the sweeps. */
@Module({
  imports: [JobsModule, BillingModule, LimitStoreModule, StorageModule],
  providers: [
    {
      provide: MediaClosing,
      inject: [MediaJobsRepository, ArtifactStore, JobCatalog, Logger],
      useFactory: (jobs: MediaJobsRepository, artifacts: ArtifactStore, catalog: JobCatalog, logger: Logger) =>
        new MediaClosing({ jobs, artifacts, modalities: asyncModalities(catalog), logger }),
    },
    {
      provide: JobClosers,
      inject: [JobsRepository, MediaClosing, SettlementStep, TokenCorrector],
      useFactory: (...parts: ConstructorParameters<typeof JobClosers>) => new JobClosers(...parts),
    },
    { provide: JobCloser, inject: [JobClosers], useFactory: (closers: JobClosers) => closers.open() },
    { provide: JobResultHandler, inject: [JobClosers, ResultTickets, Logger, Metrics], useFactory: resultProcessorOf },
  ],
  exports: [JobCloser, JobResultHandler],
})
export class JobResultProcessingModule {}

function resultProcessorOf(
  closers: JobClosers,
  tickets: ResultTickets,
  logger: Logger,
  metrics: Metrics,
): JobResultProcessor {
  const closed = metrics.counter('sluice_jobs_closed_total', 'Jobs closed, by result.', [
    'modality',
    'model',
    'state',
    'code',
  ]);
  const refused = metrics.counter(
    'sluice_job_results_refused_total',
    'Job results that were refused: without a valid ticket, malformed, or with more usage than their job allows.',
    ['reason'],
  );
  for (const reason of resultRefusals) refused.inc({ reason }, 0);
  return new JobResultProcessor({
    closer: closers.open({ gatherMs }),
    tickets,
    onRefused: (reason) => refused.inc({ reason }),
    logger,
    onClosed: ({ modality, modelId, state, errorCode }) =>
      closed.inc({ modality, model: modelId, state, code: errorCode ?? '' }),
  });
}

function asyncModalities({ definitions }: JobCatalog): ReadonlySet<string> {
  return new Set([...definitions.values()].filter(({ isAsync }) => isAsync === true).map(({ modality }) => modality));
}
