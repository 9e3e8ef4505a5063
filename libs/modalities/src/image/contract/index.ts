export * from './image.events.js';
export * from './image.job.js';
export * from './image.meter.js';
