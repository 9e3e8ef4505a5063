export * from './health-server.js';
export * from './readiness.js';
export * from './readiness-gauges.js';
export * from './readiness-log.js';
export * from './service-version.js';
export type { StoreFinding } from './store-finding.js';
