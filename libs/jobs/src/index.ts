export { type AdmissionDecision, AdmissionService, type OpenRequest } from './admission/admission.service.js';
export { DeleteExpiredLinksSweep, DownloadLinksRepository, DownloadService } from './media/downloads/index.js';
export {
  type ClaimEnding,
  DeleteStoredResponsesSweep,
  IdempotencyRepository,
  IdempotencyService,
  type KeyClaim,
  type KeyedRequest,
  type KeyOpening,
  type StoredResponse,
} from './idempotency/index.js';
export { JobCloser } from './lifecycle/job-closer.js';
export type { AdmissionStep, ClosingStep, JobClosing } from './lifecycle/job-states.js';
export { JobsRepository } from './lifecycle/jobs.repository.js';
export { JobsService } from './lifecycle/jobs.service.js';
export {
  MediaClosing,
  type MediaDelivery,
  type MediaJob,
  type MediaJobKey,
  MediaJobsRepository,
  ProgressRecorder,
} from './media/index.js';
export { JobResultProcessor } from './lifecycle/job-result.processor.js';
export { PayloadCipher } from './admission/payload-cipher.js';
export { SecretBox } from './admission/secret-box.js';
export {
  DeleteExpiredArtifactsSweep,
  ExpireOverdueSweep,
  type FailAbandonedOptions,
  FailAbandonedSweep,
  RequeueLostSweep,
  ResultBacklog,
  type Sweep,
  SweepRunner,
} from './recovery/index.js';
export { correctReservedTokens } from './admission/token-correction.js';
export { AbandonedAdmissions } from './admission/abandoned-admissions.js';
