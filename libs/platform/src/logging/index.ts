export { connectionFailure } from './connection-failure.js';
export * from './logger.js';
export * from './nest-logger.js';
export * from './report-failure.js';
