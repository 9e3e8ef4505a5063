import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/nest';
import { JobResultHandler } from '#queue';
import { LimitStoreModule } from '#rate-limit/nest';
import { StorageModule } from '#storage/nest';
import { CountedResultProcessor } from '../lifecycle/counted-result.processor.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { OpsJobCloser, ResultJobCloser } from '../lifecycle/ops-job-closer.js';
import { MediaClosing } from '../media/media-closing.js';
import { JobsModule } from './jobs.module.js';

/** Closes jobs, in ops: `JobResultHandler` for the results that workers report, `JobCloser` for the sweeps. */
@Module({
  imports: [JobsModule, BillingModule, LimitStoreModule, StorageModule],
  providers: [
    MediaClosing,
    ResultJobCloser,
    { provide: JobCloser, useClass: OpsJobCloser },
    { provide: JobResultHandler, useClass: CountedResultProcessor },
  ],
  exports: [JobCloser, JobResultHandler],
})
export class JobResultProcessingModule {}
