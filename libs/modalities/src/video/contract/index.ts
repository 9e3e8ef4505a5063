export * from './video.job.js';
export * from './video.meter.js';
