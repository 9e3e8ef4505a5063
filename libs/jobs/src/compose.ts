import type { Logger } from '#platform/logging';
import type { PrismaService } from '#platform/prisma';
import type { QueueTransport } from '#queue';
import { AdmissionService } from './admission/admission.service.js';
import { JobCloser } from './lifecycle/job-closer.js';
import type { AdmissionStep, ClosingStep } from './lifecycle/job-states.js';
import { JobsRepository } from './lifecycle/jobs.repository.js';
import { JobsService } from './lifecycle/jobs.service.js';
import { PayloadCipher } from './admission/payload-cipher.js';

export interface ApiJobsOptions {
  prisma: PrismaService;
  transport: QueueTransport;
  logger: Logger;
  /** 64 hex digits. */
  secretKey: string;
  /** Jobs that may wait per model. */
  queueLimit: number;
  /** What joins the admission; the closing steps run here for jobs that the queue did not take. */
  admissionSteps?: readonly AdmissionStep[];
  closingSteps?: readonly ClosingStep[];
}

/** The parts of this library that an api replica needs, put together. */
export function composeApiJobs(options: ApiJobsOptions): { admission: AdmissionService; jobs: JobsService } {
  const { prisma, transport, logger, secretKey, queueLimit, admissionSteps, closingSteps } = options;
  const jobs = new JobsRepository(prisma);
  const admission = new AdmissionService({
    jobs,
    closer: new JobCloser(jobs, closingSteps),
    cipher: new PayloadCipher(secretKey),
    transport,
    logger,
    queueLimit,
    steps: admissionSteps,
  });
  return { admission, jobs: new JobsService({ jobs, transport, logger }) };
}
