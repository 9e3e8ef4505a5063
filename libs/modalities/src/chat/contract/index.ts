export * from './chat.events.js';
export * from './chat.job.js';
export * from './chat.meter.js';
