import { Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { BillingModule } from '#billing/nest';
import { LimitStoreModule } from '#rate-limit/nest';
import { StorageModule } from '#storage/nest';
import { AbandonedAdmissions } from '../admission/abandoned-admissions.js';
import { AdmissionMetrics } from '../admission/admission.metrics.js';
import { AdmissionService } from '../admission/admission.service.js';
import { AdmissionSteps } from '../admission/admission-steps.js';
import { AdmissionWriter } from '../admission/admission-writer.js';
import { AmbiguousCommits } from '../admission/ambiguous-commits.js';
import { JobEnqueuer } from '../admission/job-enqueuer.js';
import { ThroughputMeter } from '../admission/throughput-meter.js';
import { DirectJobs } from '../direct/direct-jobs.js';
import { IdempotencyService } from '../idempotency/idempotency.service.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { JobsService } from '../lifecycle/jobs.service.js';
import { ReplicaJobCloser } from '../lifecycle/replica-job-closer.js';
import { DownloadService } from '../media/downloads/download.service.js';
import { ResponseStates } from '../response-states/response-states.js';
import { JobsModule } from './jobs.module.js';

/** What an api replica does with jobs: admits, cancels, and serves their results. The process provides `RequestBudgets`. */
@Module({
  imports: [JobsModule, BillingModule, LimitStoreModule, StorageModule],
  providers: [
    { provide: JobCloser, useClass: ReplicaJobCloser },
    AbandonedAdmissions,
    AmbiguousCommits,
    AdmissionSteps,
    AdmissionWriter,
    ThroughputMeter,
    JobEnqueuer,
    AdmissionMetrics,
    AdmissionService,
    IdempotencyService,
    DirectJobs,
    JobsService,
    DownloadService,
    ResponseStates,
  ],
  exports: [JobsModule, AdmissionService, DirectJobs, IdempotencyService, JobsService, DownloadService, ResponseStates],
})
export class AdmissionModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly idempotency: IdempotencyService,
    private readonly jobs: JobsService,
    private readonly meter: ThroughputMeter,
  ) {}

  onModuleInit(): void {
    this.meter.start();
  }

  /** Writes what is still waiting, before the transport and the database close. */
  async onApplicationShutdown(): Promise<void> {
    this.meter.stop();
    await this.idempotency.close();
    await this.jobs.close();
  }
}
