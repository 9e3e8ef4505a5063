export * from './image-safety.js';
export * from './image-upscaling.js';
export * from './image.events.js';
export * from './image.job.js';
export * from './image.meter.js';
