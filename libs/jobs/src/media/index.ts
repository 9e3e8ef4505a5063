export * from './media-closing.js';
export * from './media-job.js';
export { type MediaJobKey, MediaJobsRepository } from './media-jobs.repository.js';
export * from './progress-recorder.js';
