export * from './chat.events.js';
export * from './chat.job.js';
export * from './chat.meter.js';
export { webUnitsOf } from './chat.web-meter.js';
