import { Module } from '@nestjs/common';
import { DatabaseConfig } from '#platform/config';
import { PayloadCipher } from '../admission/payload-cipher.js';
import { IdempotencyRepository } from '../idempotency/idempotency.repository.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { DownloadLinksRepository } from '../media/downloads/download-links.repository.js';
import { MediaJobsRepository } from '../media/media-jobs.repository.js';

/** The rows of jobs, of their media and of idempotency keys, and the cipher of their payloads. */
@Module({
  providers: [
    JobsRepository,
    MediaJobsRepository,
    IdempotencyRepository,
    DownloadLinksRepository,
    {
      provide: PayloadCipher,
      inject: [DatabaseConfig],
      useFactory: ({ secretKey }: DatabaseConfig) => new PayloadCipher(secretKey),
    },
  ],
  exports: [JobsRepository, MediaJobsRepository, IdempotencyRepository, DownloadLinksRepository, PayloadCipher],
})
export class JobsModule {}
