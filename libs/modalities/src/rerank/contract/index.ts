export * from './rerank.events.js';
export * from './rerank.job.js';
export * from './rerank.meter.js';
