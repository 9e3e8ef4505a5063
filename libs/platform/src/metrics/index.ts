export * from './metrics.js';
export * from './standard-gauges.js';
