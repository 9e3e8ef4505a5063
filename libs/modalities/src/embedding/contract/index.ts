export * from './embedding.events.js';
export * from './embedding.job.js';
export * from './embedding.meter.js';
