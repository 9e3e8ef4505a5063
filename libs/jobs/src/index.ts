export * from './admission.service.js';
export * from './compose.js';
export * from './job-closer.js';
export * from './job-states.js';
export { JobsRepository, type OpenJob } from './jobs.repository.js';
export * from './jobs.service.js';
export * from './outcome.processor.js';
export * from './payload-cipher.js';
export * from './sweeps/index.js';
