export * from './backends/create-transport.js';
export * from './jobs/delivery-checks.js';
export * from './heartbeats/desired-placements.js';
export * from './jobs/job-definition.js';
export * from './jobs/job-delivery.js';
export { JobResultHandler } from './jobs/job-result-handler.js';
export * from './heartbeats/heartbeat.js';
export * from './transport.js';
