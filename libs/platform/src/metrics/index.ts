export * from './alert-rules.js';
export * from './metrics.js';
export * from './standard-gauges.js';
