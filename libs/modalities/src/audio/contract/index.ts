export * from './audio.job.js';
export * from './audio.meter.js';
