export { connectionFailure } from './connection-failure.js';
export { failureText } from './failure-text.js';
export * from './logger.js';
export * from './nest-logger.js';
export { OutageLog } from './outage-log.js';
export * from './report-failure.js';
export { surviveLostOutput } from './lost-output.js';
