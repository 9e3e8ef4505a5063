export * from './speech.events.js';
export * from './speech.job.js';
export * from './speech.meter.js';
