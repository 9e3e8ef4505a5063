export { AbandonedAdmissions } from './admission/abandoned-admissions.js';
export { AdmissionService } from './admission/admission.service.js';
export type { JobPreparation } from './admission/job-preparation.js';
export type { OpenRequest } from './admission/open-request.js';
export { PayloadCipher } from './admission/payload-cipher.js';
export { RequestBudgets } from './admission/request-budgets.js';
export { directJob } from './direct/direct-job.js';
export { type Delivered, DirectJobs, DirectReservation } from './direct/direct-jobs.js';
export { IdempotencyService, type KeyOpening } from './idempotency/idempotency.service.js';
export { type ClaimEnding, KeyClaim } from './idempotency/key-claim.js';
export type { StoredResponse } from './idempotency/stored-response.js';
export {
  type InspectedJob,
  type JobFilter,
  JobInspectionRepository,
  type ListedJob,
} from './inspection/job-inspection.repository.js';
export { type ActivityScope, type JobActivity, JobActivityRepository } from './inspection/job-activity.repository.js';
export {
  positionOf,
  type RequestFilter,
  RequestListRepository,
  type RequestPosition,
  type RequestRow,
} from './inspection/request-list.repository.js';
export { JobCloser } from './lifecycle/job-closer.js';
export { JobResultProcessor } from './lifecycle/job-result.processor.js';
export { type AdmissionStep, type ClosingStep, type JobClosing, type JobState } from './lifecycle/job-states.js';
export { JobsRepository } from './lifecycle/jobs.repository.js';
export { JobsService } from './lifecycle/jobs.service.js';
export { DownloadService } from './media/downloads/download.service.js';
export type { MediaDelivery, MediaJob } from './media/media-job.js';
export { type MediaJobKey, MediaJobsRepository } from './media/media-jobs.repository.js';
export { ProgressRecorder } from './media/progress-recorder.js';
export { ExpireOverdueSweep } from './recovery/expire-overdue.sweep.js';
export { FailAbandonedSweep } from './recovery/fail-abandoned.sweep.js';
export { RequeueLostSweep } from './recovery/requeue-lost.sweep.js';
export { ResultBacklog } from './recovery/result-backlog.js';
export type { Sweep } from './recovery/sweep.js';
export { type ExchangeSignature, ExchangeSignaturesRepository } from './signatures/exchange-signatures.repository.js';
export { ResponseStates } from './response-states/response-states.js';
export { ResultTickets } from './tickets/result-tickets.js';
