export * from './transcription.events.js';
export * from './transcription.job.js';
export * from './transcription.meter.js';
